// SPDX-License-Identifier: GPL-2.0-only
/*
 * Drive the power controller of the board's trace components, which has power domains, clocks and resets. The
 * register of each domain has the three bits that tools/board/plugin/power.c describes.
 */
#include <linux/bits.h>
#include <linux/clk-provider.h>
#include <linux/io.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/platform_device.h>
#include <linux/pm_domain.h>
#include <linux/reset-controller.h>

#define TP_DOMAINS	256
#define TP_ON		0
#define TP_CLOCK	1
#define TP_RESET	2

struct tp {
	void __iomem			*base;
	spinlock_t			lock;
	struct reset_controller_dev	resets;
	struct genpd_onecell_data	onecell;
	struct generic_pm_domain	*domains[TP_DOMAINS];
	struct generic_pm_domain	domain[TP_DOMAINS];
	struct clk_hw_onecell_data	*clocks;
};

static void tp_set(struct tp *tp, unsigned int domain, unsigned int bit, bool on)
{
	void __iomem *reg = tp->base + 4 * domain;
	unsigned long flags;
	u32 val;

	spin_lock_irqsave(&tp->lock, flags);
	val = readl(reg);
	writel(on ? val | BIT(bit) : val & ~BIT(bit), reg);
	spin_unlock_irqrestore(&tp->lock, flags);
}

static struct tp *tp_of_domain(struct generic_pm_domain *domain, unsigned int *nr)
{
	struct tp *tp;

	*nr = simple_strtoul(domain->name + strlen("trace"), NULL, 10);
	tp = container_of(domain, struct tp, domain[*nr]);
	return tp;
}

static int tp_domain_on(struct generic_pm_domain *domain)
{
	unsigned int nr;
	struct tp *tp = tp_of_domain(domain, &nr);

	tp_set(tp, nr, TP_ON, true);
	return 0;
}

static int tp_domain_off(struct generic_pm_domain *domain)
{
	unsigned int nr;
	struct tp *tp = tp_of_domain(domain, &nr);

	tp_set(tp, nr, TP_ON, false);
	return 0;
}

static int tp_assert(struct reset_controller_dev *resets, unsigned long nr)
{
	tp_set(container_of(resets, struct tp, resets), nr, TP_RESET, false);
	return 0;
}

static int tp_deassert(struct reset_controller_dev *resets, unsigned long nr)
{
	tp_set(container_of(resets, struct tp, resets), nr, TP_RESET, true);
	return 0;
}

static const struct reset_control_ops tp_reset_ops = {
	.assert = tp_assert,
	.deassert = tp_deassert,
};

static int tp_add_domain(struct device *dev, struct tp *tp, unsigned int i)
{
	struct generic_pm_domain *domain = &tp->domain[i];
	char name[16];

	snprintf(name, sizeof(name), "trace%u", i);
	domain->name = devm_kstrdup(dev, name, GFP_KERNEL);
	if (!domain->name)
		return -ENOMEM;
	domain->power_on = tp_domain_on;
	domain->power_off = tp_domain_off;
	tp->domains[i] = domain;
	snprintf(name, sizeof(name), "traceclk%u", i);
	tp->clocks->hws[i] = clk_hw_register_gate(dev, name, NULL, 0, tp->base + 4 * i, TP_CLOCK, 0,
						  &tp->lock);
	if (IS_ERR(tp->clocks->hws[i]))
		return PTR_ERR(tp->clocks->hws[i]);
	return pm_genpd_init(domain, NULL, true);
}

static int tp_add_providers(struct device *dev, struct tp *tp)
{
	int ret;

	tp->resets.ops = &tp_reset_ops;
	tp->resets.owner = THIS_MODULE;
	tp->resets.of_node = dev->of_node;
	tp->resets.nr_resets = TP_DOMAINS;
	ret = devm_reset_controller_register(dev, &tp->resets);
	if (!ret)
		ret = devm_of_clk_add_hw_provider(dev, of_clk_hw_onecell_get, tp->clocks);
	tp->onecell.domains = tp->domains;
	tp->onecell.num_domains = TP_DOMAINS;
	return ret ?: of_genpd_add_provider_onecell(dev->of_node, &tp->onecell);
}

static int tp_probe(struct platform_device *pdev)
{
	struct device *dev = &pdev->dev;
	unsigned int i;
	struct tp *tp;
	int ret = 0;

	tp = devm_kzalloc(dev, sizeof(*tp), GFP_KERNEL);
	if (!tp)
		return -ENOMEM;
	tp->clocks = devm_kzalloc(dev, struct_size(tp->clocks, hws, TP_DOMAINS), GFP_KERNEL);
	if (!tp->clocks)
		return -ENOMEM;
	tp->clocks->num = TP_DOMAINS;
	tp->base = devm_platform_ioremap_resource(pdev, 0);
	if (IS_ERR(tp->base))
		return PTR_ERR(tp->base);
	spin_lock_init(&tp->lock);
	for (i = 0; !ret && i < TP_DOMAINS; i++)
		ret = tp_add_domain(dev, tp, i);
	return ret ?: tp_add_providers(dev, tp);
}

static const struct of_device_id tp_match[] = {
	{ .compatible = "qemu,trace-power" },
	{ }
};

static struct platform_driver tp_driver = {
	.probe = tp_probe,
	.driver = {
		.name = "ntrace-power",
		.of_match_table = tp_match,
		.suppress_bind_attrs = true,
	},
};

static int __init tp_init(void)
{
	return platform_driver_register(&tp_driver);
}
/* The module has no exit function, because a domain that a device uses cannot be removed */
module_init(tp_init);

MODULE_DESCRIPTION("Power controller of the board's trace components");
MODULE_LICENSE("GPL");
