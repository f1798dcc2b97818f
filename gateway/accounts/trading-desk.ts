/** The parts that the routes for accounts and single-venue orders need; wiring.ts and tests create one. */
import type { Clock } from "../../engine/domain/clock.js";
import type { CredentialSource } from "../../engine/custody/credential-source.js";
import type { Owners } from "../../engine/domain/owner.js";
import type { GuardBook } from "../../engine/guards/guard-book.js";
import type { OrderDesk } from "../../engine/orders/single/order-desk.js";
import type { SwitchDesk } from "../../engine/orders/single/switch-desk.js";
import type { OperatorAccess } from "../http/operator-access.js";
import type { OwnedWallets } from "./account-access.js";
import { AccountReads, type ReadLimits } from "./account-reads.js";
import type { Instance } from "../../engine/storage/instance/instance.js";

/** While it is on, orders that open exposure are refused; exits and cancels continue. */
export type KillSwitch = Pick<GuardBook, "halt" | "resume" | "status">;

export interface OperatorAct {
  /** A key id; `local` without a key. */
  readonly who: string;
  readonly what: string;
  readonly subject: string;
  readonly outcome: "done" | "failed";
  readonly details: Readonly<Record<string, string | boolean>>;
}

/** Writes down what an operator did. Resolves also where that failed: what was done is done. */
export type RecordAct = (act: OperatorAct) => Promise<void>;

export interface TradingDesk {
  readonly wallets: OwnedWallets;
  readonly orders: OrderDesk & SwitchDesk;
  readonly reads: AccountReads;
  readonly killSwitch: KillSwitch;
  readonly operator: OperatorAccess;
  readonly recordAct: RecordAct;
  /** Throws RESTORED_STORE where the store was put back: settings that may raise what is at risk count as opening. */
  assertOpens(): void;
}

export interface TradingDeskParts {
  readonly clock: Clock;
  readonly wallets: CredentialSource;
  readonly owners: Owners;
  readonly orders: OrderDesk & SwitchDesk;
  readonly killSwitch: KillSwitch;
  readonly operator: OperatorAccess;
  readonly recordAct: RecordAct;
  readonly readLimits?: ReadLimits;
  /** Absent: there is nothing that could be put back. */
  readonly instance?: Pick<Instance, "assertNotRestored">;
}

export function createTradingDesk(parts: TradingDeskParts): TradingDesk {
  const { clock, wallets: source, owners, orders, killSwitch, operator, recordAct, readLimits, instance } = parts;
  const reads = new AccountReads(clock, readLimits);
  return {
    wallets: { source, owners },
    orders,
    reads,
    killSwitch,
    operator,
    recordAct,
    assertOpens: () => instance?.assertNotRestored(),
  };
}
