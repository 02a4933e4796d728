/** The switch *Show costs* in the menu for engineers. */
import type { Locator, Page } from "playwright-core";

/** The switch, also while the menu is closed. */
export function costSwitch(page: Page): Locator {
  return page.getByRole("switch", { name: "Show costs", includeHidden: true });
}

/** Opens the menu, shows or hides the costs, and closes it. */
export async function showCosts(page: Page, isShown = true): Promise<void> {
  await page.getByText("For engineers").click();
  await costSwitch(page).setChecked(isShown);
  await page.keyboard.press("Escape");
}
