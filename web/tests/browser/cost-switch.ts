/** The switch *Show costs* in the menu for engineers. */
import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";

/** The switch, also while the menu is closed. */
export function costSwitch(page: Page): Locator {
  return page.getByRole("switch", { name: "Show costs", includeHidden: true });
}

/** Opens the menu, shows or hides the costs, and closes it. */
export async function showCosts(page: Page, isShown = true): Promise<void> {
  await openEngineersMenu(page);
  await costSwitch(page).setChecked(isShown);
  await page.keyboard.press("Escape");
}

/** Opens the menu. A click that meets the page while it moves misses the menu, as a reader's would. */
async function openEngineersMenu(page: Page): Promise<void> {
  await expect
    .poll(
      async () => {
        if ((await page.locator("details.engineers").getAttribute("open")) === null) {
          await page.getByText("For engineers").click();
        }
        return costSwitch(page).isVisible();
      },
      { timeout: 20_000 },
    )
    .toBe(true);
}
