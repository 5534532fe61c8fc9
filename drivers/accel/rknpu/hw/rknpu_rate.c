// SPDX-License-Identifier: GPL-2.0-only
/* Owns the rate of the compute clock, which is that of all cores. */
#include <linux/cleanup.h>
#include <linux/clk.h>
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/of.h>
#include <linux/pm_opp.h>
#include <linux/pm_runtime.h>
#include <linux/regulator/consumer.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "rknpu_hw.h"
#include "rknpu_hw_trace.h"
#include "rknpu_rate.h"
#include "rknpu_voltage.h"

/* Firmware's at boot. The vendor's driver leaves the clock there when the power goes off. */
#define RKNPU_RATE_PARKED_HZ	200000000ul

/* Any client can have the rate set dozens of times a second, and the OPP core logs each failure. */
#define RKNPU_RATE_RETRY_NS	(10 * NSEC_PER_SEC)

/* So often at most clock and supply are asked, in case that others have changed them. */
#define RKNPU_RATE_LOOK_NS	(50 * NSEC_PER_MSEC)

#define RKNPU_RATE_SUPPLIES	2

/* In mainline's DT nodes of cores, in the vendor's of several cores, in the vendor's of one. */
static const char * const rknpu_rate_clk_names[] = { "npu", "clk_npu", "scmi_clk" };

/* The second one feeds the memory, and must not be the lower one of the two. */
static const char * const rknpu_rate_supply_names[][RKNPU_RATE_SUPPLIES] = {
	{ "npu", "sram" },
	{ "rknpu", "mem" },
};

/*
 * The OPP core disables at last what it thinks was enabled at first, if it has ever set a rate.
 * There is one NPU.
 */
static struct regulator **rknpu_rate_supplies_on;
static unsigned int rknpu_rate_num_supplies_on;

static int rknpu_rate_enable_supplies(struct regulator **supplies, unsigned int count)
{
	unsigned int i;
	int ret;

	for (i = 0; i < count && !rknpu_rate_supplies_on; i++) {
		ret = regulator_enable(supplies[i]);
		if (ret) {
			while (i--)
				regulator_disable(supplies[i]);
			return ret;
		}
	}
	rknpu_rate_supplies_on = supplies;
	rknpu_rate_num_supplies_on = count;
	return 0;
}

static void rknpu_rate_disable_supplies(void)
{
	unsigned int i;

	for (i = 0; rknpu_rate_supplies_on && i < rknpu_rate_num_supplies_on; i++)
		regulator_disable(rknpu_rate_supplies_on[i]);
}

/*
 * Of the NPU's supply, which is to be raised or lowered. The old point does not tell where
 * firmware has set more than it, or where the change to it ended halfway.
 */
static unsigned long rknpu_rate_voltage_now(struct regulator *supply,
					    const struct dev_pm_opp_supply *old)
{
	int uv = regulator_get_voltage(supply);

	return uv > 0 ? uv : old->u_volt;
}

/* dev_pm_opp_config.config_regulators */
static int rknpu_rate_set_supplies(struct device *dev, struct dev_pm_opp *old_opp,
				   struct dev_pm_opp *new_opp, struct regulator **supplies,
				   unsigned int count)
{
	struct dev_pm_opp_supply now[RKNPU_RATE_SUPPLIES], next[RKNPU_RATE_SUPPLIES];
	unsigned int i;
	bool up;
	int ret;

	ret = dev_pm_opp_get_supplies(old_opp, now) ?: dev_pm_opp_get_supplies(new_opp, next);
	if (ret)
		return ret;

	up = count < 2 || next[0].u_volt >= rknpu_rate_voltage_now(supplies[0], &now[0]);
	for (i = 0; i < count; i++) {
		unsigned int n = up ? count - 1 - i : i;

		ret = regulator_set_voltage_triplet(supplies[n], next[n].u_volt_min,
						    next[n].u_volt, next[n].u_volt_max);
		if (ret)
			return ret;
	}
	return rknpu_rate_enable_supplies(supplies, count);
}

/* dev_pm_opp_config.config_regulators: for operating points that do with the voltage there is. */
static int rknpu_rate_keep_supplies(struct device *dev, struct dev_pm_opp *old_opp,
				    struct dev_pm_opp *new_opp, struct regulator **supplies,
				    unsigned int count)
{
	return rknpu_rate_enable_supplies(supplies, count);
}

/* The device tree says that nobody may change the NPU's voltage. */
static bool rknpu_rate_keeps_voltage(struct device *dev)
{
	return of_property_read_bool(dev->of_node, "rockchip,keep-voltage");
}

static bool rknpu_rate_has_supply(struct device *dev, const char *name)
{
	char property[32];

	snprintf(property, sizeof(property), "%s-supply", name);
	return of_find_property(dev->of_node, property, NULL);
}

/* Fills @names, which ends with NULL. */
static unsigned int rknpu_rate_find_supplies(struct device *dev, const char **names)
{
	unsigned int shape, i, n = 0;

	for (shape = 0; shape < ARRAY_SIZE(rknpu_rate_supply_names) && !n; shape++) {
		for (i = 0; i < RKNPU_RATE_SUPPLIES; i++) {
			if (rknpu_rate_has_supply(dev, rknpu_rate_supply_names[shape][i]))
				names[n++] = rknpu_rate_supply_names[shape][i];
		}
	}
	return n;
}

static const char *rknpu_rate_find_clk(struct device *dev)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rknpu_rate_clk_names); i++) {
		if (of_property_match_string(dev->of_node, "clock-names",
					     rknpu_rate_clk_names[i]) >= 0)
			return rknpu_rate_clk_names[i];
	}
	return NULL;
}

static int rknpu_rate_config_opps(struct device *dev)
{
	const char *supplies[RKNPU_RATE_SUPPLIES + 1] = { };
	const char *clks[2] = { };
	struct dev_pm_opp_config config = { .clk_names = clks };
	bool keeps = rknpu_rate_keeps_voltage(dev);
	unsigned int n;

	clks[0] = rknpu_rate_find_clk(dev);
	if (!clks[0])
		return -ENOENT;
	n = rknpu_rate_find_supplies(dev, supplies);
	/* A single supply that it knows the OPP core sets by itself, whatever is asked for. */
	if (n > 1 || (n && !keeps)) {
		config.regulator_names = supplies;
		config.config_regulators = keeps ? rknpu_rate_keep_supplies :
						   rknpu_rate_set_supplies;
	}
	return dev_pm_opp_set_config(dev, &config);
}

/*
 * Tables of Rockchip's own trees say which read margin the NPU's memories need
 * at which voltage. To change one without the other is to lose data, and the
 * margin is set through registers that only Rockchip's drivers know. Where the
 * voltage stays, so may the margin that firmware has left.
 */
static bool rknpu_rate_has_margins(struct device *dev)
{
	struct device_node *np = of_parse_phandle(dev->of_node, "operating-points-v2", 0);
	bool has = of_find_property(np, "volt-mem-read-margin", NULL);

	of_node_put(np);
	return has;
}

/*
 * Each point is for some grades of chips, as in Rockchip's trees for 6.1. The OPP core takes
 * none of them unless a driver says which grade this chip is, and that is in fuses that only
 * Rockchip's drivers can read.
 */
static bool rknpu_rate_is_graded(struct device *dev)
{
	struct device_node *np = of_parse_phandle(dev->of_node, "operating-points-v2", 0);
	struct device_node *point;
	bool all = of_get_child_count(np);

	for_each_child_of_node(np, point)
		all = all && of_find_property(point, "opp-supported-hw", NULL);
	of_node_put(np);
	return all;
}

/* Microvolts of the lowest supply, or a negative errno. */
static int rknpu_rate_voltage(struct device *dev)
{
	const char *names[RKNPU_RATE_SUPPLIES + 1] = { };
	unsigned int i, n = rknpu_rate_find_supplies(dev, names);
	int lowest = n ? INT_MAX : -ENODEV;

	for (i = 0; i < n && lowest > 0; i++) {
		struct regulator *supply = regulator_get(dev, names[i]);

		if (IS_ERR(supply))
			return PTR_ERR(supply);
		lowest = min(lowest, regulator_get_voltage(supply));
		regulator_put(supply);
	}
	return lowest;
}

static bool rknpu_rate_does_with(struct dev_pm_opp *opp, int uv)
{
	struct dev_pm_opp_supply needs[RKNPU_RATE_SUPPLIES] = { };
	unsigned int i;

	if (dev_pm_opp_get_supplies(opp, needs))
		return false;
	for (i = 0; i < RKNPU_RATE_SUPPLIES; i++) {
		if (needs[i].u_volt > uv)
			return false;
	}
	return true;
}

/* Leaves the operating points that do with the voltage there is. */
static int rknpu_rate_fit_voltage(struct rknpu_rate *rate)
{
	int uv = rknpu_rate_voltage(rate->dev);
	unsigned long hz = 0, most = 0;
	struct dev_pm_opp *opp;
	bool fits;

	/* A reason of its own, which the caller tells. */
	if (uv < 0)
		return uv == -ENODEV ? -ENXIO : uv;
	for (;; hz++) {
		opp = dev_pm_opp_find_freq_ceil(rate->dev, &hz);
		if (IS_ERR(opp))
			break;
		fits = rknpu_rate_does_with(opp, uv);
		dev_pm_opp_put(opp);
		if (fits)
			most = hz;
		else
			dev_pm_opp_disable(rate->dev, hz);
	}
	if (!most) {
		dev_info(rate->dev, "compute clock stays at %lu Hz: no operating point does with the supply's voltage, %d uV\n",
			 rate->hz, uv);
		return -ENODEV;
	}
	dev_info(rate->dev, "compute clock scales to %lu Hz at the supply's voltage, %d uV\n",
		 most, uv);
	return 0;
}

/* Without operating points nobody knows the voltages, so the rate stays what it is. */
static int rknpu_rate_add_opps(struct rknpu_rate *rate)
{
	int token, ret;

	if (!of_find_property(rate->dev->of_node, "operating-points-v2", NULL))
		return -ENODEV;
	if (RKNPU_COMPAT_OPPS_UNKNOWN(rknpu_rate_has_margins, rate->dev) &&
	    !rknpu_rate_keeps_voltage(rate->dev)) {
		dev_info(rate->dev, "compute clock stays at %lu Hz: operating points with read margins, which this driver cannot set; see rknpu-dt --clock\n",
			 rate->hz);
		return -ENODEV;
	}
	if (RKNPU_COMPAT_OPPS_UNKNOWN(rknpu_rate_is_graded, rate->dev)) {
		dev_info(rate->dev, "compute clock stays at %lu Hz: operating points for grades of chips, which this driver cannot tell\n",
			 rate->hz);
		return -ENODEV;
	}

	rknpu_rate_supplies_on = NULL;
	token = rknpu_rate_config_opps(rate->dev);
	if (token < 0)
		return token;
	ret = dev_pm_opp_of_add_table(rate->dev);
	if (ret)
		goto err_clear_config;
	if (rknpu_rate_keeps_voltage(rate->dev)) {
		ret = rknpu_rate_fit_voltage(rate);
		if (ret)
			goto err_remove_table;
	}
	rate->opp_config = token;
	return 0;

err_remove_table:
	dev_pm_opp_of_remove_table(rate->dev);
err_clear_config:
	dev_pm_opp_clear_config(token);
	return ret;
}

static void rknpu_rate_remove_opps(struct rknpu_rate *rate)
{
	if (!rate->was_set)
		rknpu_rate_disable_supplies();
	dev_pm_opp_of_remove_table(rate->dev);
	dev_pm_opp_clear_config(rate->opp_config);
	WRITE_ONCE(rate->scales, false);
	rate->was_set = false;
	memset(rate->refused, 0, sizeof(rate->refused));
	rate->min = 0;
	WRITE_ONCE(rate->max, 0);
	WRITE_ONCE(rate->told, 0);
}

/* The operating point that is just enough for what it runs at. */
static unsigned long rknpu_rate_first_wanted(struct rknpu_rate *rate)
{
	unsigned long hz = rate->hz;
	struct dev_pm_opp *opp;

	opp = dev_pm_opp_find_freq_ceil(rate->dev, &hz);
	if (IS_ERR(opp))
		opp = dev_pm_opp_find_freq_floor(rate->dev, &hz);
	if (IS_ERR(opp))
		return 0;
	dev_pm_opp_put(opp);
	return hz;
}

static unsigned long rknpu_rate_lowest(struct rknpu_rate *rate)
{
	unsigned long hz = 0;
	struct dev_pm_opp *opp = dev_pm_opp_find_freq_ceil(rate->dev, &hz);

	if (IS_ERR(opp))
		return 0;
	dev_pm_opp_put(opp);
	return hz;
}

static unsigned long rknpu_rate_highest(struct rknpu_rate *rate)
{
	unsigned long hz = ULONG_MAX;
	struct dev_pm_opp *opp = dev_pm_opp_find_freq_floor(rate->dev, &hz);

	if (IS_ERR(opp))
		return 0;
	dev_pm_opp_put(opp);
	return hz;
}

/* Cycles until now are those of the old rate. */
static void rknpu_rate_note(struct rknpu_rate *rate, unsigned long hz)
{
	struct rknpu_hw *hw = container_of(rate, struct rknpu_hw, rate);

	if (hz == rate->hz)
		return;
	guard(spinlock_irq)(&hw->lock);
	hw->ops->rate_changes(hw);
	WRITE_ONCE(rate->hz, hz);
}

/* Of @hz, or the oldest one: there may be more points than room. */
static struct rknpu_refusal *rknpu_rate_refusal(struct rknpu_rate *rate, unsigned long hz)
{
	struct rknpu_refusal *refusal = rate->refused;
	unsigned int i;

	for (i = 0; i < RKNPU_RATE_REFUSALS; i++) {
		if (rate->refused[i].hz == hz)
			return &rate->refused[i];
		if (rate->refused[i].retry_ns < refusal->retry_ns)
			refusal = &rate->refused[i];
	}
	return refusal;
}

/* A core is powered. */
static int rknpu_rate_apply(struct rknpu_rate *rate, unsigned long hz)
{
	struct rknpu_refusal *refusal = rknpu_rate_refusal(rate, hz);
	int ret;

	if (refusal->hz == hz && ktime_get_ns() < refusal->retry_ns)
		return 0;
	ret = dev_pm_opp_set_rate(rate->dev, hz);
	if (ret)
		*refusal = (struct rknpu_refusal) { hz, ktime_get_ns() + RKNPU_RATE_RETRY_NS };
	rate->was_set |= !ret;
	if (ret)
		dev_warn_ratelimited(rate->dev, "compute clock stays at %lu Hz, not %lu: %d\n",
				     rate->hz, hz, ret);
	rate->set = ret ? 0 : hz;
	rknpu_rate_note(rate, clk_get_rate(rate->clk));
	trace_rknpu_clock(rate->hz, ret);
	return ret;
}

/* rknpu_rate::look */
static void rknpu_rate_look_work(struct work_struct *work)
{
	struct rknpu_rate *rate = container_of(work, struct rknpu_rate, look);

	guard(mutex)(&rate->lock);
	if (rate->dev && rate->powered)
		rknpu_rate_note(rate, clk_get_rate(rate->clk));
	if (rate->supply)
		WRITE_ONCE(rate->uv, regulator_get_voltage(rate->supply));
	WRITE_ONCE(rate->look_ns, ktime_get_ns());
}

void rknpu_rate_init_static(struct rknpu_hw *hw)
{
	mutex_init(&hw->rate.lock);
	INIT_WORK(&hw->rate.look, rknpu_rate_look_work);
}

/* The rate stays, so the voltage has to be enough for it. */
static void rknpu_rate_hold_voltage(struct rknpu_rate *rate)
{
	const char *supplies[RKNPU_RATE_SUPPLIES + 1] = { };

	if (rknpu_rate_has_margins(rate->dev) || rknpu_rate_keeps_voltage(rate->dev) ||
	    !rknpu_rate_find_supplies(rate->dev, supplies))
		return;
	rate->held = rknpu_voltage_hold(rate->dev, supplies[0], rate->hz);
}

static int rknpu_rate_start_scaling(struct rknpu_rate *rate)
{
	int ret = rknpu_rate_add_opps(rate);

	if (ret == -EPROBE_DEFER)
		return ret;
	if (ret) {
		if (ret != -ENODEV)
			dev_warn(rate->dev, "no operating points: %d\n", ret);
		return 0;
	}
	rate->parked = min(rate->hz, RKNPU_RATE_PARKED_HZ);
	WRITE_ONCE(rate->wanted, rknpu_rate_first_wanted(rate));
	WRITE_ONCE(rate->scales, rate->wanted);
	rate->min = rknpu_rate_lowest(rate);
	WRITE_ONCE(rate->max, rknpu_rate_highest(rate));
	if (rate->scales)
		rknpu_rate_apply(rate, rate->wanted);
	else
		rknpu_rate_remove_opps(rate);
	return 0;
}

static struct rknpu_core *rknpu_rate_core(struct rknpu_hw *hw)
{
	unsigned int i;

	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		if (hw->cores[i].dev && hw->cores[i].npu_clk)
			return &hw->cores[i];
	}
	return NULL;
}

/* The vendor's driver tells the voltage of core 0. */
static struct regulator *rknpu_rate_supply(struct rknpu_hw *hw)
{
	unsigned int i;

	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		if (hw->cores[i].dev)
			return hw->cores[i].supply;
	}
	return NULL;
}

int rknpu_rate_start(struct rknpu_hw *hw)
{
	struct rknpu_core *core = rknpu_rate_core(hw);
	struct rknpu_rate *rate = &hw->rate;
	int ret;

	scoped_guard(mutex, &rate->lock) {
		rate->look_ns = ktime_get_ns() - RKNPU_RATE_LOOK_NS;
		WRITE_ONCE(rate->supply, rknpu_rate_supply(hw));
	}
	/* That a core cannot be powered is the scheduler's to find out. */
	if (!core || pm_runtime_resume_and_get(core->dev))
		return 0;

	mutex_lock(&rate->lock);
	WRITE_ONCE(rate->dev, core->dev);
	rate->clk = core->npu_clk;
	rknpu_rate_note(rate, clk_get_rate(rate->clk));
	ret = rknpu_rate_start_scaling(rate);
	if (!ret && !rate->scales)
		rknpu_rate_hold_voltage(rate);
	if (ret) {
		WRITE_ONCE(rate->supply, NULL);
		WRITE_ONCE(rate->dev, NULL);
	}
	mutex_unlock(&rate->lock);
	pm_runtime_put_autosuspend(core->dev);
	return ret;
}

void rknpu_rate_stop(struct rknpu_hw *hw)
{
	struct rknpu_rate *rate = &hw->rate;

	mutex_lock(&rate->lock);
	if (rate->scales) {
		if (rate->powered)
			rknpu_rate_apply(rate, rate->parked);
		rknpu_rate_remove_opps(rate);
	}
	regulator_put(rate->held);
	rate->held = NULL;
	WRITE_ONCE(rate->supply, NULL);
	WRITE_ONCE(rate->dev, NULL);
	mutex_unlock(&rate->lock);
}

void rknpu_rate_power_up(struct rknpu_hw *hw)
{
	struct rknpu_rate *rate = &hw->rate;

	guard(mutex)(&rate->lock);
	WRITE_ONCE(rate->told, 0);
	WRITE_ONCE(rate->powered, rate->powered + 1);
	if (rate->powered > 1 || !rate->scales)
		return;
	/* By itself: the next line does nothing if the rate was refused lately. */
	RKNPU_COMPAT_OPP_POWER_UP(rate->dev);
	rknpu_rate_apply(rate, rate->wanted);
}

void rknpu_rate_power_down(struct rknpu_hw *hw)
{
	struct rknpu_rate *rate = &hw->rate;

	guard(mutex)(&rate->lock);
	if (rate->powered == 1 && rate->scales)
		rknpu_rate_apply(rate, rate->parked);
	WRITE_ONCE(rate->powered, rate->powered - 1);
}

bool rknpu_rate_scales(struct rknpu_hw *hw)
{
	return READ_ONCE(hw->rate.scales);
}

bool rknpu_rate_is_powered(struct rknpu_hw *hw)
{
	guard(mutex)(&hw->rate.lock);
	return hw->rate.powered;
}

unsigned long rknpu_rate_get(struct rknpu_hw *hw)
{
	struct rknpu_rate *rate = &hw->rate;

	if (!READ_ONCE(rate->dev))
		return 0;
	if (READ_ONCE(rate->scales) && !READ_ONCE(rate->powered))
		return READ_ONCE(rate->told) ?: READ_ONCE(rate->wanted);
	return READ_ONCE(rate->hz);
}

/*
 * Any client asks, from as many threads and with as little priority as it likes. Firmware and
 * regulators may be long in telling, and a core that wakes up needs this lock and theirs: so a
 * worker asks them.
 */
static void rknpu_rate_look(struct rknpu_rate *rate)
{
	/* Read first: the worker may set it meanwhile. */
	u64 looked = READ_ONCE(rate->look_ns);

	if (ktime_get_ns() - looked < RKNPU_RATE_LOOK_NS)
		return;
	queue_work(system_highpri_wq, &rate->look);
	flush_work(&rate->look);
}

unsigned long rknpu_rate_ask(struct rknpu_hw *hw)
{
	rknpu_rate_look(&hw->rate);
	return rknpu_rate_get(hw);
}

int rknpu_rate_ask_uv(struct rknpu_hw *hw)
{
	struct rknpu_rate *rate = &hw->rate;

	if (!READ_ONCE(rate->supply))
		return -ENODEV;
	rknpu_rate_look(rate);
	return READ_ONCE(rate->uv);
}

unsigned long rknpu_rate_max(struct rknpu_hw *hw)
{
	return READ_ONCE(hw->rate.max) ?: rknpu_rate_ask(hw);
}

int rknpu_rate_set(struct rknpu_hw *hw, unsigned long hz)
{
	struct rknpu_rate *rate = &hw->rate;
	int ret = 0;

	mutex_lock(&rate->lock);
	if (rate->scales && rate->powered && hz != rate->set)
		ret = rknpu_rate_apply(rate, hz);
	if (rate->scales && !ret) {
		WRITE_ONCE(rate->wanted, hz);
		WRITE_ONCE(rate->told, 0);
	}
	mutex_unlock(&rate->lock);
	return ret;
}

bool rknpu_rate_set_for_wake(struct rknpu_hw *hw, unsigned long *hz)
{
	struct rknpu_rate *rate = &hw->rate;

	guard(mutex)(&rate->lock);
	if (rate->powered || !rate->scales)
		return false;
	WRITE_ONCE(rate->wanted, *hz);
	WRITE_ONCE(rate->told, rate->min);
	*hz = rate->min;
	return true;
}
