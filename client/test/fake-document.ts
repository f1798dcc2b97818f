/** The parts of a document that a module of the dashboard uses: elements by selector, created on first use. */
import { vi } from "vitest";

type Listener = (event: object) => void;

export class FakeNode {
  textContent = "";
  value = "";
  disabled = false;
  hidden = false;
  className = "";
  onclick: (() => void) | null = null;
  readonly dataset: Record<string, string> = {};
  readonly children: FakeNode[] = [];
  readonly #attributes = new Map<string, string>();
  #parent: FakeNode | null = null;
  readonly #listeners = new Map<string, Listener[]>();

  addEventListener(kind: string, listener: Listener): void {
    this.#listeners.set(kind, [...(this.#listeners.get(kind) ?? []), listener]);
  }

  dispatch(kind: string): void {
    for (const listener of this.#listeners.get(kind) ?? []) listener({ preventDefault: () => {} });
  }

  querySelectorAll(): readonly FakeNode[] {
    return [];
  }

  get firstElementChild(): FakeNode | null {
    return this.children[0] ?? null;
  }

  /** Only for lists that a module fills itself. */
  get lastElementChild(): FakeNode | null {
    return this.children.at(-1) ?? null;
  }

  append(...added: readonly (FakeNode | string)[]): void {
    for (const one of added) if (typeof one !== "string") this.insertBefore(one, null);
  }

  insertBefore(added: FakeNode, before: FakeNode | null): void {
    added.remove();
    this.children.splice(before === null ? this.children.length : this.children.indexOf(before), 0, added);
    added.#parent = this;
  }

  remove(): void {
    const siblings = this.#parent?.children ?? [];
    if (siblings.includes(this)) siblings.splice(siblings.indexOf(this), 1);
    this.#parent = null;
  }

  replaceChildren(...nodes: readonly FakeNode[]): void {
    for (const one of [...this.children]) one.remove();
    this.append(...nodes);
  }

  setAttribute(name: string, value: string): void {
    this.#attributes.set(name, value);
  }

  getAttribute(name: string): string | null {
    return this.#attributes.get(name) ?? null;
  }

  showModal(): void {}

  close(): void {
    this.dispatch("close");
  }

  reset(): void {}

  focus(): void {}
}

const ELEMENTS = [
  "HTMLElement",
  "HTMLButtonElement",
  "HTMLDialogElement",
  "HTMLFormElement",
  "HTMLInputElement",
  "HTMLSelectElement",
  "HTMLTextAreaElement",
];
/** More turns than any reply of these tests takes. */
const TURNS = 100;

export class FakeDocument {
  readonly #nodes = new Map<string, FakeNode>();

  node(selector: string): FakeNode {
    const known = this.#nodes.get(selector);
    if (known !== undefined) return known;
    const made = new FakeNode();
    this.#nodes.set(selector, made);
    return made;
  }

  /** Presses like a person: a disabled element does nothing. */
  press(selector: string): void {
    const button = this.node(selector);
    if (!button.disabled) button.dispatch("click");
  }

  /** Resolves when everything that can run has run. */
  async settled(): Promise<void> {
    for (let turn = 0; turn < TURNS; turn++) await Promise.resolve();
  }
}

/** Undone by `vi.unstubAllGlobals`. */
export function installDocument(): FakeDocument {
  const page = new FakeDocument();
  for (const name of ELEMENTS) vi.stubGlobal(name, FakeNode);
  vi.stubGlobal("document", {
    querySelector: (selector: string) => page.node(selector),
    createElement: () => new FakeNode(),
  });
  vi.stubGlobal("window", globalThis);
  vi.stubGlobal(
    "FormData",
    class {
      get(): string {
        return "best";
      }
    },
  );
  return page;
}
