// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operating points of Rockchip's kernels, whose grades and read margins their own helper knows.
 *
 * A table also has rules for when it is cold or hot, which Rockchip's driver leaves to its system
 * monitor. Here each voltage is enough when it is cold, and no rate is too high when it is hot.
 */
#ifdef RKNPU_HAVE_ROCKCHIP_OPP

#include <linux/bits.h>
#include <linux/clk.h>
#include <linux/err.h>
#include <linux/minmax.h>
#include <linux/of.h>
#include <linux/regmap.h>
#include <linux/regulator/consumer.h>

#include <soc/rockchip/rockchip_opp_select.h>

/* Here the real ones are meant. */
#undef dev_pm_opp_set_config
#undef dev_pm_opp_clear_config
#undef dev_pm_opp_of_add_table
#undef dev_pm_opp_get_supplies
#undef dev_pm_opp_set_rate

#define RKNPU_COMPAT_MARGIN_REGS	3

/* There is one NPU. */
static struct rockchip_opp_info rknpu_compat_opps;
static config_regulators_t rknpu_compat_set_supplies;
/* Microvolts that no point may have less of. */
static u32 rknpu_compat_floor_uv;
static bool rknpu_compat_opps_used;

static int rknpu_compat_config_supplies(struct device *dev, struct dev_pm_opp *old_opp,
					struct dev_pm_opp *new_opp, struct regulator **supplies,
					unsigned int count);

static int rknpu_compat_config_clks(struct device *dev, struct opp_table *table,
				    struct dev_pm_opp *opp, void *data, bool down)
{
	return rockchip_opp_config_clks(dev, table, opp, data, down, &rknpu_compat_opps);
}

/* ---- RK3588; numbers are Rockchip's driver's ---- */

static int rknpu_compat_rk3588_bin(struct device *dev, struct device_node *np, int *bin,
				   int *process)
{
	u8 letter = 0;
	int ret = 0;

	if (of_property_match_string(np, "nvmem-cell-names", "specification_serial_number") >= 0)
		ret = rockchip_nvmem_cell_read_u8(np, "specification_serial_number", &letter);
	if (ret)
		return ret;
	/* RK3588M, RK3588J */
	if (letter == 0xd)
		*bin = 1;
	else if (letter == 0xa)
		*bin = 2;
	*bin = max(*bin, 0);
	return 0;
}

static int rknpu_compat_rk3588_grade(struct device *dev, struct device_node *np,
				     struct rockchip_opp_info *info)
{
	if (info->volt_sel < 0 || !of_property_read_bool(np, "rockchip,supported-hw"))
		return 0;
	info->supported_hw[0] = BIT(max(info->bin, 0));
	info->supported_hw[1] = BIT(info->volt_sel);
	return 0;
}

static int rknpu_compat_rk3588_set_margin(struct device *dev, struct rockchip_opp_info *info,
					  u32 margin)
{
	unsigned int i;
	int ret = 0;

	if (!info->grf || margin == UINT_MAX || margin == info->current_rm)
		return 0;
	for (i = 0; i < RKNPU_COMPAT_MARGIN_REGS && !ret; i++)
		ret = regmap_update_bits(info->grf, 4 * i, GENMASK(4, 2), margin << 2);
	if (!ret)
		info->current_rm = margin;
	return ret;
}

static const struct rockchip_opp_data rknpu_compat_rk3588_opps = {
	.get_soc_info = rknpu_compat_rk3588_bin,
	.set_soc_info = rknpu_compat_rk3588_grade,
	.set_read_margin = rknpu_compat_rk3588_set_margin,
	.config_regulators = rknpu_compat_config_supplies,
	.config_clks = rknpu_compat_config_clks,
};

/* ---- RK3576; numbers are Rockchip's driver's ---- */

/* The upper half of a register says which bits of the lower one are written. */
static int rknpu_compat_rk3576_set_margin(struct device *dev, struct rockchip_opp_info *info,
					  u32 margin)
{
	static const u32 writable[RKNPU_COMPAT_MARGIN_REGS] = { 0x1c, 0x3c, 0x1c };
	unsigned int i;
	int ret = 0;

	if (!info->grf || margin == UINT_MAX || margin == info->current_rm)
		return 0;
	for (i = 0; i < RKNPU_COMPAT_MARGIN_REGS && !ret; i++)
		ret = regmap_write(info->grf, 8 + 4 * i, writable[i] << 16 | margin << 2);
	if (!ret)
		info->current_rm = margin;
	return ret;
}

static const struct rockchip_opp_data rknpu_compat_rk3576_opps = {
	.set_soc_info = rockchip_opp_set_low_length,
	.set_read_margin = rknpu_compat_rk3576_set_margin,
	.config_regulators = rknpu_compat_config_supplies,
	.config_clks = rknpu_compat_config_clks,
};

/* ---- tables ---- */

static const struct rockchip_opp_data *rknpu_compat_opp_data(void)
{
	if (of_machine_is_compatible("rockchip,rk3588"))
		return &rknpu_compat_rk3588_opps;
	if (of_machine_is_compatible("rockchip,rk3576"))
		return &rknpu_compat_rk3576_opps;
	return NULL;
}

/* Rules for temperatures that a floor and a highest rate do not cover. */
static bool rknpu_compat_opps_have_other_rules(struct device_node *np)
{
	static const char * const rules[] = {
		"rockchip,max-volt", "rockchip,low-temp-adjust-volt", "rockchip,high-temp-max-volt",
		"rockchip,temp-freq-table", "rockchip,high-temp-limit-table",
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rules); i++) {
		if (of_find_property(np, rules[i], NULL))
			return true;
	}
	return false;
}

/* Those with margins or for grades, but not where nobody may change the voltage. */
bool rknpu_compat_knows_opps(struct device *dev)
{
	struct device_node *np = of_parse_phandle(dev->of_node, "operating-points-v2", 0);
	bool knows = IS_ENABLED(CONFIG_ROCKCHIP_OPP) && rknpu_compat_opp_data() &&
		     (of_find_property(np, "volt-mem-read-margin", NULL) ||
		      of_find_property(np, "rockchip,supported-hw", NULL)) &&
		     !of_property_read_bool(dev->of_node, "rockchip,keep-voltage") &&
		     !rknpu_compat_opps_have_other_rules(np);

	of_node_put(np);
	return knows;
}

/* The helper goes on where it cannot set a margin, and memory would lose data. */
static bool rknpu_compat_lacks_margins(struct device *dev)
{
	struct device_node *np = of_parse_phandle(dev->of_node, "operating-points-v2", 0);
	bool has = of_find_property(np, "volt-mem-read-margin", NULL);

	of_node_put(np);
	return has && (!rknpu_compat_opps.grf || !rknpu_compat_opps.volt_rm_tbl);
}

int rknpu_compat_opp_set_config(struct device *dev, struct dev_pm_opp_config *config)
{
	struct rockchip_opp_info *info = &rknpu_compat_opps;
	struct device_node *np;
	int ret;

	rknpu_compat_opps_used = false;
	if (!rknpu_compat_knows_opps(dev))
		return dev_pm_opp_set_config(dev, config);
	if (!config->regulator_names) {
		dev_info(dev, "compute clock stays: operating points with read margins or for grades, and no supply\n");
		return -ENODEV;
	}

	*info = (struct rockchip_opp_info) { .data = rknpu_compat_opp_data() };
	rknpu_compat_set_supplies = config->config_regulators;
	rknpu_compat_floor_uv = 0;
	np = of_parse_phandle(dev->of_node, "operating-points-v2", 0);
	of_property_read_u32(np, "rockchip,low-temp-min-volt", &rknpu_compat_floor_uv);
	of_node_put(np);

	ret = rockchip_init_opp_info(dev, info, (char *)config->clk_names[0],
				     (char *)config->regulator_names[0]);
	if (ret)
		return ret;
	if (rknpu_compat_lacks_margins(dev)) {
		dev_info(dev, "compute clock stays: operating points with read margins, and no rockchip,grf that has them\n");
		rockchip_uninit_opp_info(dev, info);
		return -ENODEV;
	}
	rknpu_compat_opps_used = true;
	return info->opp_token;
}

void rknpu_compat_opp_clear_config(int token)
{
	rknpu_compat_opps_used = false;
	dev_pm_opp_clear_config(token);
}

/* Rockchip's driver goes beyond while it is cool. */
static void rknpu_compat_cap_opps(struct device *dev)
{
	struct device_node *np = of_parse_phandle(dev->of_node, "operating-points-v2", 0);
	unsigned long hz;
	u32 khz = U32_MAX;

	of_property_read_u32(np, "rockchip,high-temp-max-freq", &khz);
	of_node_put(np);
	for (hz = khz * 1000ul + 1; ; hz++) {
		struct dev_pm_opp *opp = dev_pm_opp_find_freq_ceil(dev, &hz);

		if (IS_ERR(opp))
			break;
		dev_pm_opp_put(opp);
		dev_pm_opp_disable(dev, hz);
	}
}

int rknpu_compat_opp_of_add_table(struct device *dev)
{
	int ret = dev_pm_opp_of_add_table(dev);

	if (!ret && rknpu_compat_opps_used) {
		rockchip_adjust_opp_table(dev, &rknpu_compat_opps);
		rknpu_compat_cap_opps(dev);
	}
	return ret;
}

/* ---- changes ---- */

int rknpu_compat_opp_get_supplies(struct dev_pm_opp *opp, struct dev_pm_opp_supply *supplies)
{
	unsigned int i, n = rknpu_compat_opps_used ? rknpu_compat_opps.regulator_count : 0;
	unsigned long floor = rknpu_compat_floor_uv;
	int ret = dev_pm_opp_get_supplies(opp, supplies);

	for (i = 0; i < n && !ret; i++) {
		supplies[i].u_volt_min = max(supplies[i].u_volt_min, floor);
		supplies[i].u_volt = max(supplies[i].u_volt, floor);
		supplies[i].u_volt_max = max(supplies[i].u_volt_max, floor);
	}
	return ret;
}

/*
 * A lower voltage needs its margin before, a higher one bears that of a lower one. The old point
 * does not tell which it is: firmware may have given more, or a change ended halfway.
 */
static int rknpu_compat_config_supplies(struct device *dev, struct dev_pm_opp *old_opp,
					struct dev_pm_opp *new_opp, struct regulator **supplies,
					unsigned int count)
{
	struct rockchip_opp_info *info = &rknpu_compat_opps;
	int now_uv = regulator_get_voltage(supplies[0]), ret;
	u32 margin = UINT_MAX, was = info->target_rm;
	struct dev_pm_opp_supply next[2] = { };
	bool up;

	if (now_uv < 0)
		return now_uv;
	ret = rknpu_compat_opp_get_supplies(new_opp, next) ?:
	      clk_bulk_prepare_enable(info->nclocks, info->clocks);
	if (ret)
		return ret;

	up = next[0].u_volt >= now_uv;
	rockchip_get_read_margin(dev, info, next[0].u_volt, &margin);
	if (!up)
		ret = rockchip_set_read_margin(dev, info, margin, true);
	ret = ret ?: rknpu_compat_set_supplies(dev, old_opp, new_opp, supplies, count);
	if (up && !ret)
		ret = rockchip_set_read_margin(dev, info, margin, true);
	/* Not that of before on the way down: one of the supplies may be lower already. */
	if (up && ret)
		info->target_rm = was;
	clk_bulk_disable_unprepare(info->nclocks, info->clocks);
	return ret;
}

/* Lost with the power: UINT_MAX, as the helper has it at first. The supply is as it was. */
static int rknpu_compat_restore_margin(struct device *dev)
{
	struct rockchip_opp_info *info = &rknpu_compat_opps;
	int ret;

	if (!rknpu_compat_opps_used || info->current_rm != UINT_MAX)
		return 0;
	ret = clk_bulk_prepare_enable(info->nclocks, info->clocks);
	if (ret)
		return ret;
	ret = info->data->set_read_margin(dev, info, info->target_rm);
	clk_bulk_disable_unprepare(info->nclocks, info->clocks);
	return ret;
}

/* Even if no rate is set then: jobs run in any case. */
void rknpu_compat_opp_power_up(struct device *dev)
{
	int ret;

	rknpu_compat_opps.current_rm = UINT_MAX;
	ret = rknpu_compat_restore_margin(dev);
	if (ret)
		dev_warn_ratelimited(dev, "read margin of memories is not set: %d\n", ret);
}

/* A core is powered. */
int rknpu_compat_opp_set_rate(struct device *dev, unsigned long hz)
{
	return rknpu_compat_restore_margin(dev) ?: dev_pm_opp_set_rate(dev, hz);
}

#endif
