/** A party of the test's that is an operator's own process and does wrong what the test orders (false-party.child.ts). */
import { renameSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import type { FalseOrders } from "./false-party.child.js";

export const FALSE_PARTY = "bench/test/support/false-party.child.ts";
const HONEST: FalseOrders = { flips: null, dies: null };

export class FalseParty {
  readonly #main: string;
  readonly #path: string;

  /** `main`: the compiled child; `path`: of the file of orders. Honest until it is ordered otherwise. */
  constructor(main: string, path: string) {
    this.#main = main;
    this.#path = path;
    this.order({});
  }

  /** From its next message on; what is not ordered it does as it should. */
  order(orders: Partial<FalseOrders>): void {
    // The party reads it whole, whenever that is.
    writeFileSync(`${this.#path}.next`, JSON.stringify({ ...HONEST, ...orders }));
    renameSync(`${this.#path}.next`, this.#path);
  }

  /** Turns the command of a party's process into the one of this party. */
  readonly inside = ([program = "", ...args]: readonly string[]): readonly string[] => {
    const url = pathToFileURL(this.#main);
    url.searchParams.set("orders", this.#path);
    return [program, "--import", url.href, ...args];
  };
}
