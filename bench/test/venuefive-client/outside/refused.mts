/** What the compiler refuses somebody else's program; a line that it takes after all is an error. */
import type { OpenPositionParameters, VenuefiveErrorCode, VenuefiveTrading } from "unwind-client";
import type { UseVenuefiveTradeReturnType } from "unwind-client/react";

export async function refused(
  trading: VenuefiveTrading,
  order: OpenPositionParameters,
  { status }: UseVenuefiveTradeReturnType,
): Promise<void> {
  // @ts-expect-error: an amount is a decimal text.
  await trading.openPosition({ ...order, positionSizeUsd: 100 });
  // @ts-expect-error: there are two directions.
  await trading.closeBySymbol("BTC", "FLAT");
  // @ts-expect-error: a position has an index too.
  await trading.closePosition({ pairIndex: 1 });
  // @ts-expect-error: it resolves with a hash.
  const hash: number = await trading.closePosition({ pairIndex: 1, tradeIndex: 0 });
  // @ts-expect-error: no such code.
  const code: VenuefiveErrorCode = "NO_SUCH_CODE";
  // @ts-expect-error: no such status.
  const isDone = status === "done";
  void [hash, code, isDone];
}
