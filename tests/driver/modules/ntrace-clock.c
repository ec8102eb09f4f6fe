// SPDX-License-Identifier: GPL-2.0-only
/* This module is a clock whose driver is loaded after the drivers that need the clock. The module can be unloaded */
#include <linux/clk-provider.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/platform_device.h>

static int late_clock_probe(struct platform_device *pdev)
{
	struct clk_hw *hw = devm_clk_hw_register_fixed_rate(&pdev->dev, "late-clock", NULL, 0,
							    10000000);

	if (IS_ERR(hw))
		return PTR_ERR(hw);
	return devm_of_clk_add_hw_provider(&pdev->dev, of_clk_hw_simple_get, hw);
}

static const struct of_device_id late_clock_match[] = {
	{ .compatible = "qemu,late-clock" },
	{ }
};

static struct platform_driver late_clock_driver = {
	.probe = late_clock_probe,
	.driver = {
		.name = "late-clock",
		.of_match_table = late_clock_match,
	},
};
module_platform_driver(late_clock_driver);

MODULE_DESCRIPTION("Clock that comes late");
MODULE_LICENSE("GPL");
