/**
 * Faults for the judges of the ledger to find, planted into its modules as they are loaded next. `unplant` and
 * `vi.resetModules` end them.
 */
import { vi } from "vitest";
import type * as ActSteps from "../act-steps.js";
import type * as DepositSteps from "../deposit-steps.js";
import type * as OpeningsFile from "../openings.js";
import type * as RowDecoder from "../row-decoder.js";
import type * as BookFile from "../transfer-book.js";

type Opened = Pick<OpeningsFile.Openings, "deposit" | "withdrawal">;
type Booked = Pick<BookFile.TransferBook, "page" | "unclaimed" | "update">;

const FILES = ["row-decoder", "openings", "deposit-steps", "act-steps", "transfer-book"];

export function unplant(): void {
  for (const file of FILES) vi.doUnmock(`../${file}.js`);
}

export function opening(wrong: (right: Opened) => Partial<Opened>): void {
  vi.doMock("../openings.js", async (original: () => Promise<typeof OpeningsFile>) => {
    const right = await original();
    class Openings extends right.Openings {
      readonly #wrong = wrong({ deposit: (ask) => super.deposit(ask), withdrawal: (ask) => super.withdrawal(ask) });

      override deposit(ask: OpeningsFile.DepositAsk) {
        return this.#wrong.deposit?.(ask) ?? super.deposit(ask);
      }

      override withdrawal(ask: OpeningsFile.WithdrawalAsk) {
        return this.#wrong.withdrawal?.(ask) ?? super.withdrawal(ask);
      }
    }
    return { ...right, Openings };
  });
}

export function stepping(wrong: (right: typeof DepositSteps) => Partial<typeof DepositSteps>): void {
  vi.doMock("../deposit-steps.js", async (original: () => Promise<typeof DepositSteps>) => {
    const right = await original();
    return { ...right, ...wrong(right) };
  });
}

export function acting(wrong: (right: typeof ActSteps) => Partial<typeof ActSteps>): void {
  vi.doMock("../act-steps.js", async (original: () => Promise<typeof ActSteps>) => {
    const right = await original();
    return { ...right, ...wrong(right) };
  });
}

export function booking(wrong: (right: Booked) => Partial<Booked>): void {
  vi.doMock("../transfer-book.js", async (original: () => Promise<typeof BookFile>) => {
    const right = await original();
    class TransferBook extends right.TransferBook {
      constructor(...parts: ConstructorParameters<typeof right.TransferBook>) {
        super(...parts);
        const base = right.TransferBook.prototype;
        const bound = {
          page: base.page.bind(this),
          unclaimed: base.unclaimed.bind(this),
          update: base.update.bind(this) as Booked["update"],
        };
        Object.assign(this, wrong(bound));
      }
    }
    return { ...right, TransferBook };
  });
}

/** A row under way begins at its first step in the next life. */
export function forgetsSteps(): void {
  vi.doMock("../row-decoder.js", async (original: () => Promise<typeof RowDecoder>) => {
    const right = await original();
    const decodeTransfer: typeof right.decodeTransfer = (key, value) => {
      const row = right.decodeTransfer(key, value);
      const isUnderWay = row.kind === "deposit" && row.state !== "confirmed" && row.state !== "failed";
      return isUnderWay ? { ...row, state: "created", plan: [], steps: [] } : row;
    };
    return { ...right, decodeTransfer };
  });
}

export function paysTo(receiver: string): void {
  opening((right) => ({
    withdrawal: (ask) => right.withdrawal({ ...ask, receiver: ask.venue === "venueone" ? receiver : ask.receiver }),
  }));
}

export function ignoresFee(): void {
  opening((right) => ({ withdrawal: async (ask) => ({ ...(await right.withdrawal(ask)), fee: "0" }) }));
}

/** `confirmations`: that make a transaction final. */
export function countsTwice(confirmations: number): void {
  stepping((right) => ({
    looked: (row, index, { standing, taken }, nowMs) => {
      const twice =
        standing.kind === "mined" ? { ...standing, isFinal: standing.confirmations * 2 >= confirmations } : standing;
      return right.looked(row, index, { standing: twice, taken }, nowMs);
    },
  }));
}

export function sendsAgainAtOnce(): void {
  acting(() => ({ maySendAgain: (row, { standing }) => standing.kind === "absent" && row.state === "unknown" }));
}

export function takesLostForRefused(): void {
  acting((right) => ({
    withdrawalSent: (row, outcome, isFirst, nowMs) => {
      const heard = { kind: "refused", reason: "OTHER", venueText: "", retryAfterMs: null, isSpent: true } as const;
      return right.withdrawalSent(row, outcome.kind === "unknown" ? heard : outcome, isFirst, nowMs);
    },
  }));
}
