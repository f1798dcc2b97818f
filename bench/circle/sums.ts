/**
 * Amounts of the circle and whether they add up. Everything is an integer of 10^-18, which holds each amount that the
 * service writes; a text that does not fit throws, so nothing is rounded anywhere.
 */
import { formatScaledBig, parseScaledBig } from "../../engine/domain/decimal.js";

const PLACES = 18;

/** 10^-18 of a unit. */
export type Atto = bigint;

/** Throws RangeError on anything but decimal text of at most 18 places. */
export function parseAtto(text: string): Atto {
  const value = parseScaledBig(text, PLACES);
  if (value === null) throw new RangeError(`${text} is no amount of at most ${PLACES} places`);
  return value;
}

export function printAtto(value: Atto): string {
  return formatScaledBig(value, PLACES);
}

/** The largest amount of `decimals` places that is not above the value. The value is not negative. */
export function floorAtto(value: Atto, decimals: number): Atto {
  return value - (value % 10n ** BigInt(PLACES - decimals));
}

/** As a venue wants it: in the token's smallest unit. The value has no more than `decimals` places. */
export function rawUnits(value: Atto, decimals: number): string {
  return String(value / 10n ** BigInt(PLACES - decimals));
}

export interface Fill {
  readonly side: "BUY" | "SELL";
  readonly quantity: string;
  readonly price: string;
  readonly fee: { readonly amount: string } | null;
}

const BPS = 10_000n;
const UNIT = 10n ** BigInt(PLACES);

export interface TradeSums {
  /** What trading brought, before fees, of an account that is flat again. */
  readonly result: Atto;
  readonly fees: Atto;
  /** Fees that the venue prints, each without the digits beyond its last. */
  readonly printedFees: Atto;
  /** Those that are not the fee of the listed rate, cut to what the venue prints. */
  readonly wrongFees: number;
}

/**
 * Of fills that all took. A venue takes a fee exactly and prints it to its last digit, so the exact one comes from the
 * listed rate, in bps, and the printed one has to agree. Throws RangeError where an amount is finer than 10^-18.
 */
export function tradeSums(fills: readonly Fill[], takerFeeBps: string, digits: number): TradeSums {
  let [result, fees, printedFees, wrongFees] = [0n, 0n, 0n, 0];
  for (const { side, quantity, price, fee } of fills) {
    const notional = exactly(parseAtto(quantity) * parseAtto(price), UNIT);
    const exact = exactly(notional * parseAtto(takerFeeBps), UNIT * BPS);
    const printed = parseAtto(fee?.amount ?? "0");
    if (printed !== floorAtto(exact, digits)) wrongFees++;
    result += side === "SELL" ? notional : -notional;
    fees += exact;
    printedFees += printed;
  }
  return { result, fees, printedFees, wrongFees };
}

function exactly(dividend: bigint, divisor: bigint): bigint {
  if (dividend % divisor !== 0n) throw new RangeError(`an amount is finer than 10^-${PLACES}`);
  return dividend / divisor;
}

export interface CircleSums {
  /** On chain, before and after; of the token and of the coin that pays for gas. */
  readonly token: { readonly before: Atto; readonly after: Atto };
  readonly coins: { readonly before: Atto; readonly after: Atto };
  readonly deposited: Atto;
  /** What the withdrawals were to bring: their amounts, less fees that are inside. */
  readonly withdrawn: Atto;
  readonly withdrawalFees: Atto;
  readonly trades: TradeSums;
  readonly funding: Atto;
  /** What the venue still shows. */
  readonly left: Atto;
  /** Digits behind the point that the venue shows. */
  readonly digits: number;
  /** Of the transactions, each as its receipt says. */
  readonly gas: Atto;
}

/** What is at the venue and too small for its last digit: the rest of the sum, which has to be less than that digit. */
export function belowLastDigit(sums: CircleSums): Atto {
  const { deposited, withdrawn, withdrawalFees, trades, funding, left } = sums;
  return deposited - withdrawalFees - trades.fees + trades.result + funding - left - withdrawn;
}

/** Each sum that has to be exact, with what is missing from it; 0 where it adds up. */
export function differences(sums: CircleSums): readonly { readonly name: string; readonly missing: Atto }[] {
  const { token, coins, deposited, withdrawn, trades, digits, gas } = sums;
  const rest = belowLastDigit(sums);
  const isDust = rest >= 0n && rest < 10n ** BigInt(PLACES - digits);
  return [
    {
      name: "on chain: before - went in + came back = after",
      missing: token.before - deposited + withdrawn - token.after,
    },
    {
      name: "at the venue: went in - fees + trades + funding - came back = what is left there",
      missing: isDust ? 0n : rest,
    },
    { name: "each printed fee is the listed rate of its fill", missing: BigInt(trades.wrongFees) * UNIT },
    { name: "gas: coins before - gas of the transactions = coins after", missing: coins.before - gas - coins.after },
  ];
}
