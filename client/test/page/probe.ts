/**
 * Checks of the browser test that only the page itself can make; injected before its own scripts run. A classic script
 * without imports, so that it can be injected unchanged.
 */

/** Texts whose contrast with their background is below 4.5, or that opacity makes fainter. */
function lowContrast(): string[] {
  const poor = new Set<string>();
  for (const node of document.querySelectorAll("body *")) {
    const isText = [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent?.trim());
    if (!isText || node.closest("noscript, .sr, .skip, script") !== null || !node.checkVisibility()) continue;
    const style = getComputedStyle(node);
    const ink = luminance(channels(node instanceof SVGElement ? style.fill : style.color));
    const paper = luminance(groundOf(node));
    const contrast = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    let opacity = 1;
    for (let one: Element | null = node; one !== null; one = one.parentElement)
      opacity *= Number(getComputedStyle(one).opacity);
    if (contrast < 4.5 || opacity < 1)
      poor.add(
        `${node.tagName}.${node.getAttribute("class")} ${node.textContent?.trim().slice(0, 20)} ${contrast.toFixed(2)}`,
      );
  }
  return [...poor];
}

/** Red, green, blue and, where given, alpha. */
function channels(color: string): number[] {
  return (color.match(/[\d.]+/g) ?? []).map(Number);
}

/** WCAG 2.2 relative luminance. */
function luminance(rgb: readonly number[]): number {
  const [red = 0, green = 0, blue = 0] = rgb.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** The colour of the nearest opaque background. */
function groundOf(start: Element): number[] {
  for (let node: Element | null = start; node !== null; node = node.parentElement) {
    const [red = 0, green = 0, blue = 0, alpha = 1] = channels(getComputedStyle(node).backgroundColor);
    if (alpha === 1) return [red, green, blue];
  }
  return [255, 255, 255];
}

/** Controls, pictures and tables that assistive technology could not name. */
function unnamed(): string[] {
  return [...document.querySelectorAll<HTMLElement | SVGElement>("input, select, button, [tabindex], table")]
    .filter((one) => {
      const labels = one instanceof HTMLInputElement || one instanceof HTMLSelectElement ? one.labels : null;
      const name = one.getAttribute("aria-label") ?? one.getAttribute("aria-labelledby");
      return !(name || labels?.length || (one instanceof HTMLButtonElement && one.textContent?.trim()));
    })
    .map((one) => one.outerHTML.slice(0, 80));
}

/** Makes the page look as it does without its service, with every kind of badge. */
function pretendLost(): void {
  document.body.dataset.link = "lost";
  const states = ["LIVE", "SYNCING", "DOWN", "UNKNOWN"];
  for (const [index, badge] of [...document.querySelectorAll<HTMLElement>(".badge")].entries())
    badge.dataset.state = states[index] ?? "STALE";
}

document.addEventListener("securitypolicyviolation", (event) =>
  // Where the test collects everything that went wrong.
  // biome-ignore lint/suspicious/noConsole: the console is what the test reads.
  console.error(`policy violation: ${event.violatedDirective} ${event.blockedURI}`),
);
Object.assign(globalThis, {
  pageProbe: {
    lowContrast,
    unnamed,
    pretendLost,
    focused: () => document.activeElement?.textContent ?? "",
  },
});
