/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests of the RK3588 NPU's compute clock, by SCMI messages in shared memory.
 * Without a CPU that could make the call, a property of the device makes it.
 */
#include "qemu/osdep.h"
#include "libqtest.h"
#include "qobject/qdict.h"

#define SHM             0x0010f000u
#define SHM_STATUS      (SHM + 0x04)
#define SHM_LENGTH      (SHM + 0x14)
#define SHM_HEADER      (SHM + 0x18)
#define SHM_PAYLOAD     (SHM + 0x1c)

#define PMU_PWR         (0xfd8d8000u + 0x14c)
#define HIWORD(bit, on) (1u << ((bit) + 16) | ((on) ? 1u << (bit) : 0))

#define CLK_NPU         6
#define MHZ             1000000u

enum { BASE = 0x10, CLOCK = 0x14 };
enum { RATE_SET = 5, RATE_GET = 6 };
enum { NOT_SUPPORTED = -1, INVALID = -2, NOT_FOUND = -4, RANGE = -5 };

static QTestState *start(const char *more)
{
    return qtest_initf("-machine rk3588-npu,npu-seed=0 -nodefaults %s", more);
}

static void power(QTestState *qts, bool on)
{
    qtest_writel(qts, PMU_PWR, HIWORD(1, !on));
    qtest_writel(qts, PMU_PWR, HIWORD(3, !on));
}

static QDict *get(QTestState *qts, const char *path, const char *property)
{
    QDict *r = qtest_qmp(qts, "{ 'execute': 'qom-get', 'arguments': "
                         "{ 'path': %s, 'property': %s } }", path, property);

    g_assert(qdict_haskey(r, "return"));
    return r;
}

static uint64_t core_hz(QTestState *qts, unsigned core)
{
    g_autofree char *path = g_strdup_printf("/machine/npu-core%u", core);
    QDict *r = get(qts, path, "clock-frequency");
    uint64_t hz = qdict_get_int(r, "return");

    qobject_unref(r);
    return hz;
}

/* True if firmware never answers. */
static bool ring(QTestState *qts)
{
    QDict *r = get(qts, "/machine/scmi", "ring");
    bool never = qdict_get_bool(r, "return");

    qobject_unref(r);
    return never;
}

static void request(QTestState *qts, unsigned protocol, unsigned message,
                    unsigned args, const uint32_t *arg)
{
    unsigned i;

    qtest_writel(qts, SHM_STATUS, 0);
    qtest_writel(qts, SHM_HEADER, protocol << 10 | message);
    qtest_writel(qts, SHM_LENGTH, 4 + 4 * args);
    for (i = 0; i < args; i++) {
        qtest_writel(qts, SHM_PAYLOAD + 4 * i, arg[i]);
    }
}

static int32_t call(QTestState *qts, unsigned protocol, unsigned message,
                    unsigned args, const uint32_t *arg)
{
    request(qts, protocol, message, args, arg);
    g_assert_false(ring(qts));
    g_assert_cmphex(qtest_readl(qts, SHM_STATUS), ==, 1);
    g_assert_cmphex(qtest_readl(qts, SHM_HEADER), ==, protocol << 10 | message);
    return qtest_readl(qts, SHM_PAYLOAD);
}

static uint32_t rate(QTestState *qts)
{
    uint32_t id = CLK_NPU;

    g_assert_cmpint(call(qts, CLOCK, RATE_GET, 1, &id), ==, 0);
    g_assert_cmpuint(qtest_readl(qts, SHM_LENGTH), ==, 16);
    g_assert_cmpuint(qtest_readl(qts, SHM_PAYLOAD + 8), ==, 0);
    return qtest_readl(qts, SHM_PAYLOAD + 4);
}

static void rate_request(QTestState *qts, uint32_t hz)
{
    const uint32_t arg[] = { 0, CLK_NPU, hz, 0 };

    request(qts, CLOCK, RATE_SET, 4, arg);
}

static int32_t set_rate(QTestState *qts, uint32_t hz)
{
    const uint32_t arg[] = { 0, CLK_NPU, hz, 0 };

    return call(qts, CLOCK, RATE_SET, 4, arg);
}

static void test_messages(void)
{
    QTestState *qts = start("");
    uint32_t arg[2] = { 0, 0 };

    /* A free channel is there from the start. */
    g_assert_cmphex(qtest_readl(qts, SHM_STATUS), ==, 1);
    g_assert_cmpint(call(qts, BASE, 0, 0, NULL), ==, 0);
    g_assert_cmphex(qtest_readl(qts, SHM_PAYLOAD + 4), ==, 0x20000);
    g_assert_cmpint(call(qts, BASE, 6, 1, arg), ==, 0);
    g_assert_cmphex(qtest_readl(qts, SHM_PAYLOAD + 4), ==, 1);
    g_assert_cmphex(qtest_readl(qts, SHM_PAYLOAD + 8), ==, CLOCK);
    g_assert_cmpint(call(qts, CLOCK, 0, 0, NULL), ==, 0);
    g_assert_cmphex(qtest_readl(qts, SHM_PAYLOAD + 4), ==, 0x10000);
    g_assert_cmpint(call(qts, CLOCK, 1, 0, NULL), ==, 0);
    g_assert_cmphex(qtest_readl(qts, SHM_PAYLOAD + 4), ==, CLK_NPU + 1);

    g_assert_cmpint(call(qts, 0x13, 0, 0, NULL), ==, NOT_SUPPORTED);
    g_assert_cmpint(call(qts, CLOCK, 99, 0, NULL), ==, NOT_SUPPORTED);
    arg[0] = CLK_NPU + 1;
    g_assert_cmpint(call(qts, CLOCK, RATE_GET, 1, arg), ==, NOT_FOUND);
    g_assert_cmpuint(qtest_readl(qts, SHM_LENGTH), ==, 8);
    /* Arguments that are not there count as 0. */
    g_assert_cmpint(call(qts, CLOCK, RATE_GET, 0, NULL), ==, NOT_FOUND);

    /* More than the shared memory holds. */
    request(qts, CLOCK, RATE_GET, 0, NULL);
    qtest_writel(qts, SHM_LENGTH, 0x1000);
    g_assert_false(ring(qts));
    g_assert_cmpint((int32_t)qtest_readl(qts, SHM_PAYLOAD), ==, INVALID);
    qtest_writel(qts, SHM_LENGTH, 0);
    g_assert_false(ring(qts));
    g_assert_cmpint((int32_t)qtest_readl(qts, SHM_PAYLOAD), ==, INVALID);
    qtest_quit(qts);
}

static void test_rates(void)
{
    QTestState *qts = start("");
    unsigned i;

    g_assert_cmpuint(rate(qts), ==, 200 * MHZ);
    power(qts, true);
    g_assert_cmpint(set_rate(qts, 600 * MHZ), ==, 0);
    g_assert_cmpuint(rate(qts), ==, 600 * MHZ);
    for (i = 0; i < 3; i++) {
        g_assert_cmpuint(core_hz(qts, i), ==, 600 * MHZ);
    }
    g_assert_cmpint(set_rate(qts, 1001 * MHZ), ==, RANGE);
    g_assert_cmpint(set_rate(qts, 199 * MHZ), ==, RANGE);
    g_assert_cmpint(set_rate(qts, 0), ==, RANGE);
    g_assert_cmpuint(rate(qts), ==, 600 * MHZ);

    qtest_qmp_assert_success(qts, "{ 'execute': 'system_reset' }");
    qtest_qmp_eventwait(qts, "RESET");
    g_assert_cmpuint(rate(qts), ==, 200 * MHZ);
    g_assert_cmpuint(core_hz(qts, 0), ==, 200 * MHZ);
    qtest_quit(qts);
}

/* Reported from boards: it takes the caller's CPU along. */
static void test_raise_while_off(void)
{
    QTestState *qts = start("");

    rate_request(qts, 300 * MHZ);
    g_assert_true(ring(qts));
    /* There is no answer. */
    g_assert_cmphex(qtest_readl(qts, SHM_STATUS), ==, 0);
    g_assert_cmpuint(rate(qts), ==, 200 * MHZ);

    /* Not raised: what mainline's device tree makes the kernel ask for. */
    g_assert_cmpint(set_rate(qts, 200 * MHZ), ==, 0);
    power(qts, true);
    g_assert_cmpint(set_rate(qts, 300 * MHZ), ==, 0);
    power(qts, false);
    g_assert_cmpint(set_rate(qts, 200 * MHZ), ==, 0);
    qtest_quit(qts);

    qts = start("-global rk3588-scmi.hang=off");
    g_assert_cmpint(set_rate(qts, 300 * MHZ), ==, INVALID);
    g_assert_cmpuint(rate(qts), ==, 200 * MHZ);
    qtest_quit(qts);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/rk3588-npu/scmi/messages", test_messages);
    qtest_add_func("/rk3588-npu/scmi/rates", test_rates);
    qtest_add_func("/rk3588-npu/scmi/raise-while-off", test_raise_while_off);
    return g_test_run();
}
