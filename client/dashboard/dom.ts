/**
 * The few functions that change the document. Texts are inserted as text, never as markup; unchanged values are not
 * written, so that a still figure costs nothing and a selection in it is kept.
 */

/** An element of the page as delivered; its absence is a bug. */
export function part<T extends Element>(selector: string, kind: new () => T, within: ParentNode = document): T {
  const found = within.querySelector(selector);
  if (!(found instanceof kind)) throw new Error(`the page has no ${selector}`);
  return found;
}

export function parts<T extends Element>(selector: string, kind: new () => T, within: ParentNode = document): T[] {
  return [...within.querySelectorAll(selector)].filter((one): one is T => one instanceof kind);
}

export function setText(node: Element, text: string): void {
  if (node.textContent !== text) node.textContent = text;
}

export function setData(node: HTMLElement | SVGElement, name: string, value: string): void {
  if (node.dataset[name] !== value) node.dataset[name] = value;
}

export function setAttribute(node: Element, name: string, value: string): void {
  if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}

export function setHidden(node: HTMLElement, hidden: boolean): void {
  if (node.hidden !== hidden) node.hidden = hidden;
}

const SVG = "http://www.w3.org/2000/svg";

export function svg<K extends keyof SVGElementTagNameMap>(
  name: K,
  attributes: Readonly<Record<string, string>> = {},
): SVGElementTagNameMap[K] {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}

/**
 * Draws at most once per frame, and not at all while the page is hidden: changes are drawn when it is visible again.
 */
export class Painter {
  readonly #draws: readonly (() => void)[];
  #dirty = new Set<() => void>();
  #isDue = false;

  constructor(draws: readonly (() => void)[]) {
    this.#draws = draws;
  }

  mark(draw: () => void): void {
    this.#dirty.add(draw);
    if (this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => this.#paint());
  }

  markAll(): void {
    for (const draw of this.#draws) this.mark(draw);
  }

  #paint(): void {
    this.#isDue = false;
    const dirty = this.#dirty;
    this.#dirty = new Set();
    for (const draw of dirty) draw();
  }
}
