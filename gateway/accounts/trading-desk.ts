/** The parts that the routes for accounts and single-venue orders need; wiring.ts and tests create one. */
import type { Clock } from "../../engine/domain/clock.js";
import type { CredentialSource } from "../../engine/custody/credential-source.js";
import type { Owners } from "../../engine/domain/owner.js";
import type { GuardBook } from "../../engine/guards/guard-book.js";
import type { OrderDesk } from "../../engine/orders/single/order-desk.js";
import type { OperatorAccess } from "../http/operator-access.js";
import type { OwnedWallets } from "./account-access.js";
import { AccountReads, type ReadLimits } from "./account-reads.js";

/** While it is on, orders that open exposure are refused; exits and cancels continue. */
export type KillSwitch = Pick<GuardBook, "halt" | "resume" | "status">;

/** What the operator did, for the audit log. */
export interface OperatorAct {
  /** A key's id, or `local` without keys. */
  readonly who: string;
  readonly what: "kill-switch.halt" | "kill-switch.resume";
  /** The venue; "" for all. */
  readonly subject: string;
  readonly outcome: "done";
  readonly details: Readonly<Record<string, string>>;
}

/** Resolves when it is durable. */
export type NoteAct = (act: OperatorAct) => Promise<void>;

export interface TradingDesk {
  readonly wallets: OwnedWallets;
  readonly orders: OrderDesk;
  readonly reads: AccountReads;
  readonly killSwitch: KillSwitch;
  readonly operator: OperatorAccess;
  readonly noteAct: NoteAct;
}

export interface TradingDeskParts {
  readonly clock: Clock;
  readonly wallets: CredentialSource;
  readonly owners: Owners;
  readonly orders: OrderDesk;
  readonly killSwitch: KillSwitch;
  readonly operator: OperatorAccess;
  /** Absent: nobody keeps a record of acts. */
  readonly noteAct?: NoteAct;
  readonly readLimits?: ReadLimits;
}

export function createTradingDesk(parts: TradingDeskParts): TradingDesk {
  const { clock, wallets: source, owners, orders, killSwitch, operator, noteAct = async () => {}, readLimits } = parts;
  const reads = new AccountReads(clock, readLimits);
  return { wallets: { source, owners }, orders, reads, killSwitch, operator, noteAct };
}
