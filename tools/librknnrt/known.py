#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""What is known of others' .rknn files: makes inputs for them, and judges what came out.

    known.py jobs DIR WORK     writes inputs to WORK; prints a line per job: argument of rknn_known, model, input files
    known.py judge DIR WORK    reads what rknn_known printed; prints a line per job: pass or fail, name, reason

A model MODEL.rknn whose MODEL.onnx lies anywhere in DIR is compared with what onnxruntime computes, unless it takes
bytes: rknn_known skips it then, for what is written are floats. Others are known
by their content: sums, linear networks, and those whose authors show them with a picture that must lie in DIR, too.
"""

import base64
import hashlib
import os
import sys

# Of SHA-256: networks that are one convolution, or sums of some (rockchip-linux/rknpu2, airockchip/rknn-toolkit2,
# allbilly/rk3588), or one addition (liej6799/rk3588).
LINEAR = {
    "5c6116397ab87402", "914429a397514182", "e16302b45b75d390", "fd3505b448aa94b4",
    "37a04247f7d893e5", "60c0ccba84ea85db", "bd61c63148fb0682", "b94f4fb08b65ba3b", "582ead3bdbc3a6ac",
}
ADD = {"8193829baad70bec"}

# Characters of densenet_ctc's classes, in order; the last class is none.
CTC = "1234567890+-*/,.[]{}|~@#$%^&()<>?:;abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def ctc_text(outputs):
    """The best class of each step, without repetitions and blanks."""
    steps = outputs[0].reshape(-1, len(CTC) + 1).argmax(1)
    return "".join(CTC[c] for i, c in enumerate(steps) if c < len(CTC) and (i == 0 or steps[i - 1] != c))


def text_is(want):
    def judge(outputs):
        got = ctc_text(outputs[0])
        return got == want, f"reads {got!r}, and the picture says {want!r}"
    return judge


def class_is(want):
    def judge(outputs):
        got = int(outputs[0][0].argmax())
        return got == want, f"class {got}, expected {want}"
    return judge


def two_people(outputs):
    """Six pictures, three of each of two people: the one closest to each shows the same person."""
    import numpy as np
    vectors = [o[0].ravel() / np.linalg.norm(o[0]) for o in outputs]
    closest, text = [], ""
    for i, v in enumerate(vectors):
        far = [np.linalg.norm(v - w) if w is not v else np.inf for w in vectors]
        closest.append(int(np.argmin(far)))
        text += f" {i + 1}-{closest[-1] + 1} {min(far):.2f}"
    return all(c // 3 == i // 3 for i, c in enumerate(closest)), "closest are" + text


def wears_mask(outputs):
    """SSD with a class for faces with and without masks; the most certain of all boxes is the face's."""
    scores = next(o for o in outputs[0] if o.size % 2 == 0 and o.size < max(x.size for x in outputs[0]))
    best = scores.reshape(-1, 2)
    best = best[best.max(1).argmax()]
    return bool(best[0] > 0.5 > best[1]), f"mask {best[0]:.3f}, no mask {best[1]:.3f}"


# Characters of LPRNet's classes, in order; the last one is none.
PLATE = ("BJ SH TJ CQ HB SN NM LN JN HL JS ZJ AH FJ JX SD HA HB HN GD GL HI SC GZ YN XZ SX GS QH NX XJ "
         "0 1 2 3 4 5 6 7 8 9 A B C D E F G H J K L M N P Q R S T U V W X Y Z I O").split()


def plate_is(want):
    def judge(outputs):
        steps = outputs[0][0].reshape(len(PLATE) + 1, -1).argmax(0)
        got = "".join(PLATE[c] for i, c in enumerate(steps) if c < len(PLATE) and (i == 0 or steps[i - 1] != c))
        return got == want, f"reads {got!r}, and the picture says {want!r}"
    return judge


def best_scores(tensors, classes):
    """The best score of each class over all places, in [0, 1]."""
    import numpy as np
    return np.max([t.reshape(classes, -1).max(1) for t in tensors], 0)


def logistic(x):
    import numpy as np
    return 1 / (1 + np.exp(-x))


def finds(want, scores, slack=0.02, sure=0.4):
    """The classes of @want with these scores, and no other above @sure; None is any score above it."""
    def judge(outputs):
        best = scores(outputs[0])
        text = ", ".join(f"class {c} {best[c]:.3f}" for c in best.argsort()[::-1][:len(want) + 1])
        good = all(abs(best[c] - s) <= slack if s else best[c] > sure for c, s in want.items())
        return bool(good and sum(best > sure) == len(want)), text
    return judge


def every_other(classes, first, activate=logistic):
    """Heads with a tensor of scores behind, or before, each one of boxes."""
    return lambda outputs: activate(best_scores(outputs[first::2], classes))


def with_objectness(outputs):
    """YOLOv5: three anchors of a box, whether there is an object, and 80 classes."""
    import numpy as np
    scores = []
    for t in outputs:
        t = t.reshape(3, 85, -1)
        scores.append((logistic(t[:, 4:5]) * logistic(t[:, 5:])).max((0, 2)))
    return np.max(scores, 0)


def bins_mean_one(judge, tensors):
    """
    Boxes by distributions over 16 bins: training starts all of their logits with a mean of 1 and cannot move it,
    because softmax does not see it.
    """
    def both(outputs):
        means = [float(outputs[0][i].mean()) for i in tensors]
        good, text = judge(outputs)
        return good and all(abs(m - 1) < 0.01 for m in means), \
            text + "; mean of bins " + ", ".join(f"{m:.4f}" for m in means)
    return both


def unit_length(outputs):
    import numpy as np
    length = float(np.linalg.norm(outputs[0][0]))
    return abs(length - 1) < 0.02, f"length {length:.4f}"


def zeros(outputs):
    # Its author printed a board's numbers with four decimals.
    largest = max(float(abs(o).max()) for o in outputs[0])
    return largest < 5e-5, f"largest number {largest:.4g}, and a board has zeros to four decimals"


def logits_are(want):
    def judge(outputs):
        got = outputs[0][0].ravel()
        return len(got) == len(want) and all(abs(g - w) < 1e-3 for g, w in zip(got, want)), \
            f"logits {', '.join(f'{g:.4f}' for g in got)}, and a board has {', '.join(map(str, want))}"
    return judge


# Networks that their compiler got wrong (nsbb/rknn-wakeword): what their author's board gives in place of what their
# ONNX twin does. A sum that is broadcast and has a ReLU is 0, and of it the whole network has constant logits.
BOARD = {
    "df0c74e857ea462a": zeros, "81bef17bd4d48f08": zeros, "3347e5897fb6c79d": zeros,
    "7895700ae8d5e29d": logits_are([0.334, -0.334]), "8f71d9bfceda9dbc": logits_are([0.334, -0.334]),
    "b92b984a9faec1e9": logits_are([0.334, -0.334]),
}

# Networks that take the mean off their input and divide it, so that their ONNX twins have to be given that: both.
SCALED = {"aceee34bbc320b42": (127.5, 127.5), "08759df96273c26f": (127.5, 127.5)}

# Content of the model: [(name, pictures, width, height, how, judge)]
PICTURES = {
    "8aaddb1dbe19e582": [("text KhadasTeam", ["KhadasTeam.png"], 280, 32, "grey", text_is("KhadasTeam")),
                         ("text YOUUSWEALL", ["YOUUSWEALL.png"], 280, 32, "grey", text_is("YOUUSWEALL"))],
    "464869cc8f844cc9": [("two people", ["lin_1.jpg", "lin_2.jpg", "lin_3.jpg", "xu_1.jpg", "xu_2.jpg", "xu_3.jpg"],
                          160, 160, "corner", two_people)],
    "ab320f2b391eee50": [("an airplane", ["airplane.jpeg"], 32, 32, "bgr", class_is(0)),
                         ("a deer", ["deer.jpeg"], 32, 32, "bgr", class_is(4))],
    "e9a3c9b0c8bd52c8": [("a face with a mask", ["face.jpg"], 260, 260, "rgb", wears_mask)],
    "f2a96066df80c63b": [("plate SCJK0707", ["LPRNet_test.jpg"], 94, 24, "bgr", plate_is("SCJK0707"))],
    # Scores of both are those that the author's pictures of results show.
    "b06d7c5fe9be63f6": [("bus and people", ["yolov10_test.jpg"], 640, 640, "rgb",
                          bins_mean_one(finds({5: 0.91, 0: 0.91}, every_other(80, 1)), (0, 2, 4)))],
    "91aa69a47f268533": [("man on a bench", ["yolov8_test.jpg"], 640, 640, "rgb",
                          finds({13: 0.94, 0: 0.89}, every_other(80, 1), 0.04))],
    "7aef982469389141": [("bus and people", ["bus.jpg"], 640, 640, "rgb",
                          finds({5: None, 0: None}, with_objectness))],
    "f0b067c4877b0f62": [("bus and people", ["bus.jpg"], 640, 640, "rgb", finds({5: None, 0: None}, with_objectness))],
    "4976a312c8457f96": [("bus and people", ["bus.jpg"], 640, 640, "rgb", finds({5: None, 0: None}, with_objectness))],
    "42273b6d1dbdba6b": [("bus and people", ["bus.jpg"], 640, 640, "rgb",
                          bins_mean_one(finds({5: None, 0: None},
                                              lambda o: best_scores(o[1::3], 80)), (0, 3, 6)))],
    "40df6d07b1f28ad2": [("people", ["bus.jpg"], 416, 416, "rgb", finds({0: None}, every_other(1, 1)))],
    "663f8fc2c873c4e2": [("people", ["bus.jpg"], 416, 416, "rgb", finds({0: None}, every_other(1, 1)))],
    "2a93a890c02565c2": [("a face", ["xu_1.jpg"], 640, 640, "rgb",
                          finds({0: None}, lambda o: logistic(best_scores(o[3:], 1))))],
    "1b8a17d66c012648": [("unit length", ["xu_1.jpg"], 128, 256, "rgb", unit_length)],
}


def files_of(directory):
    found = {}
    for at, _, names in sorted(os.walk(directory)):
        for name in names:
            found.setdefault(name, os.path.join(at, name))
    return found


def content(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()[:16]


def picture(path, width, height, how):
    """The bytes that the model's author feeds it."""
    import numpy as np
    from PIL import Image
    image = Image.open(path).convert("RGB")
    if how == "grey":
        return np.asarray(image.convert("L").resize((width, height), Image.BILINEAR))
    if how == "corner":
        # Keeps its proportions; the rest is black.
        scale = min(width / image.width, height / image.height)
        small = image.resize((int(image.width * scale), int(image.height * scale)), Image.BILINEAR)
        image = Image.new("RGB", (width, height))
        image.paste(small, (0, 0))
    pixels = np.asarray(image.resize((width, height), Image.BILINEAR))
    return pixels[:, :, ::-1] if how == "bgr" else pixels


class Twin:
    """An ONNX model, with inputs made from a seed; rknn's are its own in order NHWC."""

    def __init__(self, path, scaled=(0, 1)):
        import numpy as np
        import onnxruntime
        self.session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        random = np.random.default_rng(1)
        self.inputs, self.scaled = [], scaled
        for i in self.session.get_inputs():
            shape = [d if isinstance(d, int) else 1 for d in i.shape]
            # What fp16 holds.
            self.inputs.append((random.integers(-128, 128, shape) / 64).astype(np.float32))

    def fed(self):
        return [x.transpose(0, 2, 3, 1) if x.ndim == 4 else x for x in self.inputs]

    def judge(self, outputs):
        import numpy as np
        names = [i.name for i in self.session.get_inputs()]
        mean, unit = self.scaled
        given = [((x - mean) / unit).astype(np.float32) for x in self.inputs]
        want = self.session.run(None, dict(zip(names, given)))
        worst, good = 0, len(outputs[0]) == len(want)
        for got, right in zip(outputs[0], want):
            if got.size != right.size:
                return False, f"{got.size} numbers in place of {right.size}"
            off, largest = float(np.abs(got.ravel() - right.ravel()).max()), float(np.abs(right).max())
            # Each layer of fp16 rounds, near zero by steps of 2^-24.
            good = good and off < 3e-3 * largest + 4 * 2 ** -24
            worst = max(worst, off / largest)
        return good, f"at most {worst:.2g} of the largest number off"


def jobs(directory):
    """(argument but for inputs, model's path, [inputs of each run], judge) of all that is known."""
    found = files_of(directory)
    for name, path in sorted(found.items()):
        if not name.endswith(".rknn") or not os.path.getsize(path):
            continue
        key = content(path)
        if key in ADD:
            yield "add", name, path, None, None
        if key in LINEAR:
            yield "linear", name, path, None, None
        for job, pictures, width, height, how, judge in PICTURES.get(key, []):
            if all(p in found for p in pictures):
                yield job, name, path, [[picture(found[p], width, height, how)] for p in pictures], judge
        onnx = found.get(name[:-len("rknn")] + "onnx")
        if onnx:
            twin = Twin(onnx, SCALED.get(key, (0, 1)))
            if key in BOARD:
                yield "a board", name, path, [twin.fed()], BOARD[key]
            else:
                yield "its ONNX twin", name, path, [twin.fed()], twin.judge


def make(directory, work):
    count = 0
    for job, name, path, runs, _ in jobs(directory):
        if runs is None:
            print(f"{job}:{name}", path, sep="\t")
            continue
        for i, inputs in enumerate(runs):
            files = []
            for data in inputs:
                count += 1
                files.append(f"{work}/input{count}")
                with open(files[-1], "wb") as f:
                    f.write(data.tobytes())
            # The blank would end an argument's name in a list.
            what = f"{job} {i + 1}".replace(" ", "_")
            print(":".join(["run", name, what] + [os.path.basename(f) for f in files]), path, *files, sep="\t")


def read_outputs(text):
    """What rknn_known printed, by model and job."""
    import numpy as np
    outputs, at = {}, []
    for line in text:
        if line.startswith("# job "):
            at = []
            job = line.split()[2]
        elif line.startswith("# base64 "):
            at.append(np.frombuffer(base64.b64decode(line.split()[3]), np.float32))
        elif line.startswith("ok ") and ": runs with " in line and " # SKIP " not in line:
            model = line.split(" - ", 1)[1].split(": runs with ")[0]
            outputs[model, job] = at
    return outputs


def judge_all(directory, tap):
    with open(tap, errors="replace") as f:
        outputs = read_outputs(f)
    for job, name, _, runs, judge in jobs(directory):
        if runs is None:
            continue
        got = [outputs.get((name, f"{job} {i + 1}".replace(" ", "_"))) for i in range(len(runs))]
        if None in got:
            good, why = False, "did not run"
        else:
            good, why = judge(got)
        print("pass" if good else "fail", f"{name}: {job}", why, sep="\t")


def main():
    what, directory, where = sys.argv[1:]
    if what == "jobs":
        make(directory, where)
    else:
        judge_all(directory, where)


if __name__ == "__main__":
    main()
