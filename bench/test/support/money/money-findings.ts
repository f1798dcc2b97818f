/** What a judge of money finds, and what it judges by. */
import type { TransferRow } from "../../../../engine/transfers/transfer-row.js";
import type { Intent } from "./money-intents.js";
import type { Evidence } from "./money-evidence.js";
import type { Signed } from "./money-life.js";
import type { MoneyWallet, MoneyWorld } from "./money-world.js";

export type MoneyCheck =
  /** A row is open that the world decides. */
  | "open"
  /** What a row says and what took effect. */
  | "effect"
  /** It took effect twice. */
  | "twice"
  | "receiver"
  | "fee"
  | "paid"
  | "gas"
  | "nonce"
  /** Two things were signed for one intent, or for one nonce. */
  | "signed"
  /** The same was signed again without need. */
  | "again"
  | "tokens"
  | "venue"
  | "credit"
  /** Nobody asked for it. */
  | "stranger"
  | "answer"
  | "final"
  | "ended"
  | "hangs";

export interface MoneyFinding {
  readonly check: MoneyCheck;
  readonly text: string;
}

export interface Judged {
  readonly world: MoneyWorld;
  readonly evidence: Evidence;
  readonly wallets: readonly MoneyWallet[];
  readonly rows: readonly TransferRow[];
  readonly intents: readonly Intent[];
  readonly signed: readonly Signed[];
  readonly heard: readonly MoneyFinding[];
  /** Signatures that may have been lost with a life or a commit. */
  readonly spareSignatures: number;
}

export type Find = (check: MoneyCheck, text: string) => void;
