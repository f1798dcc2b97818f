/** What may not be asked for, since something like it may have left before: the port that reconcile/blocks.ts fills. */
import type { RoutableVenue } from "../domain/venue.js";
import type { InternalRow, TransferKind } from "./transfer-row.js";

interface MoneyAsk {
  readonly venue: RoutableVenue;
  /** The wallet's address, lower case. */
  readonly account: string;
}

/** What tells one ask from another, whoever asks. */
export type LikeAsk =
  | (MoneyAsk & {
      readonly chainId: number;
      readonly symbol: string;
      readonly amount: bigint;
      /** Of a withdrawal, once it is known. */
      readonly fee?: bigint;
    })
  /** Between accounts; the amount in token units. */
  | (MoneyAsk & Pick<InternalRow, "asset" | "amount" | "kindType">);

export interface AskBlocks {
  /** Throws TRANSFER_FOUND. */
  assertFree(kind: TransferKind, ask: LikeAsk): void;
}
