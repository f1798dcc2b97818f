/** The way of an operation, as its caller may show it. */
import type { Address, Hex } from "viem";

export type VenuefiveOperation =
  | "openPosition"
  | "closePosition"
  | "closeBySymbol"
  | "cancelLimitOrder"
  | "updateLimitOrder"
  | "updateMargin"
  | "updateTpAndSl"
  | "resume";

export type VenuefiveStep =
  /** `closeBySymbol` has found its position: the lowest index of `matchCount`. */
  | { readonly step: "matched"; readonly pairIndex: number; readonly tradeIndex: number; readonly matchCount: number }
  /** The wallet is about to be asked for the approval; decimal text in USDC, or `max`. */
  | { readonly step: "approve"; readonly spender: Address; readonly amount: string }
  | { readonly step: "approve-mined"; readonly txHash: Hex }
  /** The wallet is about to be asked for the transaction. */
  | { readonly step: "sign" }
  /** Once more with `replaces` where the wallet sped it up. After SIGN_TIMEOUT, of a wallet that answers late: `resume` it. */
  | { readonly step: "sent"; readonly txHash: Hex; readonly replaces: Hex | null }
  /** `orderId` is null where nothing waits for the keeper. */
  | { readonly step: "mined"; readonly txHash: Hex; readonly blockNumber: string; readonly orderId: string | null }
  /** `price` as decimal text, at which the keeper executed. */
  | {
      readonly step: "executed";
      readonly txHash: Hex;
      readonly orderId: string;
      readonly price: string;
      readonly executedTxHash: Hex | null;
    };

export type VenuefiveStepEvent = VenuefiveStep & { readonly operation: VenuefiveOperation };
export type OnStep = (event: VenuefiveStepEvent) => void;
