/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interface of machines that answer SMC calls as the firmware of their SoC
 * would, where QEMU's own PSCI is the guest's firmware.
 */
#ifndef HW_ARM_SMC_FIRMWARE_H
#define HW_ARM_SMC_FIRMWARE_H

#include "qom/object.h"

#define TYPE_ARM_SMC_FIRMWARE "arm-smc-firmware"

typedef struct ArmSmcFirmware ArmSmcFirmware;
typedef struct ArmSmcFirmwareClass ArmSmcFirmwareClass;
DECLARE_CLASS_CHECKERS(ArmSmcFirmwareClass, ARM_SMC_FIRMWARE,
                       TYPE_ARM_SMC_FIRMWARE)

typedef enum ArmSmcVerdict {
    ARM_SMC_UNKNOWN,    /* the function does not exist */
    ARM_SMC_DONE,       /* *ret is what the call returns */
    ARM_SMC_NEVER,      /* firmware never comes back */
} ArmSmcVerdict;

struct ArmSmcFirmwareClass {
    InterfaceClass parent_class;

    /*
     * With the BQL held.  @args are x0 to x3.  Of PSCI's calls only
     * PSCI_FEATURES gets here, when it asks for functions that are not PSCI's.
     */
    ArmSmcVerdict (*call)(Object *fw, const uint64_t args[4], int32_t *ret);
};

#endif
