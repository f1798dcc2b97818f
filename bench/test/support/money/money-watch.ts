/** Hears each durable change of a row: what has ended stays so, and nothing is confirmed before it is final. */
import { type DepositRow, isOpen, type TransferRow } from "../../../../engine/transfers/transfer-row.js";
import type { WorldChainId } from "../../../sim/chain/world-plan.js";
import type { MoneyFinding } from "./money-findings.js";
import { isAllThatIsKnown } from "./money-payings.js";
import { CONFIRMATIONS } from "./money-world.js";

export class MoneyWatch {
  readonly findings: MoneyFinding[] = [];
  readonly #last = new Map<string, TransferRow>();
  readonly #heightOf: (chainId: WorldChainId) => number;
  readonly #stepOf: () => number;

  constructor(heightOf: (chainId: WorldChainId) => number, stepOf: () => number) {
    this.#heightOf = heightOf;
    this.#stepOf = stepOf;
  }

  /** Rows that are to move on yet. */
  openCount(): number {
    return [...this.#last.values()].filter((row) => isOpen(row)).length;
  }

  /** Without those that wait for a payment alone. */
  movingCount(): number {
    return [...this.#last.values()].filter((row) => isOpen(row) && !isAllThatIsKnown(row)).length;
  }

  hangs(): void {
    this.#find("hangs", "an ask is not answered");
  }

  heard(row: TransferRow): void {
    const before = this.#last.get(row.transferId);
    this.#last.set(row.transferId, row);
    const isOver = before !== undefined && (before.state === "confirmed" || before.state === "failed");
    if (isOver && before.state !== row.state)
      this.#find("ended", `${row.kind} of ${row.amount} went from ${before.state} to ${row.state}`);
    if (row.kind === "deposit" && row.state === "confirmed" && before?.state !== "confirmed") this.#confirmed(row);
  }

  #confirmed(row: DepositRow): void {
    const blockNumber = row.steps.at(-1)?.mined?.blockNumber ?? Number.POSITIVE_INFINITY;
    const depth = this.#heightOf(row.chainId as WorldChainId) - blockNumber + 1;
    if (depth < CONFIRMATIONS) this.#find("final", `deposit of ${row.amount} is confirmed ${depth} blocks deep`);
  }

  #find(check: MoneyFinding["check"], text: string): void {
    this.findings.push({ check, text: `step ${this.#stepOf()}: ${text}` });
  }
}
