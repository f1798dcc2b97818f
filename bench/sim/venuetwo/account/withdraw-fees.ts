/** What a withdrawal costs on each chain, in tokens. The amounts are invented; how they are printed is the venue's. */
import { parseScaled } from "../../core/model/fixed.js";

interface WithdrawFee {
  /** Decimal text, as a request must offer it at least. */
  readonly gasCost: string;
  /** As the venue prints the number: small ones with an exponent. */
  readonly printed: string;
}

const FEES: Readonly<Record<number, WithdrawFee>> = {
  1: { gasCost: "0.9", printed: "0.9" },
  56: { gasCost: "0.00017", printed: "1.7E-4" },
  42161: { gasCost: "0.02", printed: "0.02" },
};

/** Null where the venue has no such chain. */
export function withdrawFee(chainId: number): WithdrawFee | null {
  return FEES[chainId] ?? null;
}

/** In E12; zero where the venue has no such chain. */
export function parseGasCost(chainId: number): bigint {
  return parseScaled(withdrawFee(chainId)?.gasCost ?? "0", 12) ?? 0n;
}

/** Body of an estimate, as JSON text. Null where the venue has no such chain. */
export function printFee(chainId: number): string | null {
  const fee = withdrawFee(chainId);
  if (fee === null) return null;
  return `{"gasPrice":1000000000,"gasLimit":170000,"nativePrice":600,"tokenPrice":1,"gasCost":${fee.printed},"gasUsdValue":${fee.printed}}`;
}
