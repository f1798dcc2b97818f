/** As much of a document as a module of the dashboard touches: elements by selector, made when they are asked for. */
import { vi } from "vitest";

type Listener = (event: object) => void;

export class FakeNode {
  textContent = "";
  value = "";
  disabled = false;
  hidden = false;
  readonly dataset: Record<string, string> = {};
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

  showModal(): void {}

  close(): void {
    this.dispatch("close");
  }

  reset(): void {}

  focus(): void {}
}

const ELEMENTS = ["HTMLElement", "HTMLButtonElement", "HTMLDialogElement", "HTMLFormElement", "HTMLInputElement"];
/** More than any answer of these tests has steps. */
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

  /** As a person does it: what is disabled takes nothing. */
  press(selector: string): void {
    const button = this.node(selector);
    if (!button.disabled) button.dispatch("click");
  }

  /** When everything that waits for nothing else has run. */
  async settled(): Promise<void> {
    for (let turn = 0; turn < TURNS; turn++) await Promise.resolve();
  }
}

/** Undone by `vi.unstubAllGlobals`. */
export function installDocument(): FakeDocument {
  const page = new FakeDocument();
  for (const name of ELEMENTS) vi.stubGlobal(name, FakeNode);
  vi.stubGlobal("document", { querySelector: (selector: string) => page.node(selector) });
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
