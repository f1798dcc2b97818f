/**
 * venuetwo's error codes → our reasons (sheet section 10, which merges the venue's own page, its ancestor's and codes
 * seen live). Classes: P caller's parameters, A auth, F funds or margin, S state, R retry later, U outcome unknown,
 * N nothing to change.
 */
import type { RejectReason } from "../../../engine/domain/order.js";

export type ErrorClass = "P" | "A" | "F" | "S" | "R" | "U" | "N";

export interface VenueError {
  readonly errorClass: ErrorClass;
  readonly reason: RejectReason;
}

type Row = readonly [codes: readonly number[], errorClass: ErrorClass, reason: RejectReason];

function range(from: number, to: number): readonly number[] {
  return Array.from({ length: from - to + 1 }, (_, index) => from - index);
}

/** Codes as the venue prints them, negative. `range(a, b)` runs downward. */
const ROWS: readonly Row[] = [
  [[-1000, -1001], "R", "VENUE_STATE"],
  [[-1002, -1011, -1022, -2014, -2015, -4056, -4057], "A", "AUTH"],
  // Clock and nonce: refused before execution; the room measures its clock again and tries once more. The sheet files
  // them under A, but the caller's key is not at fault: taken for AUTH, a clock that steps would read as a wrong key.
  [[-1021, -4225], "R", "VENUE_STATE"],
  [[-1003, -1008, -1015], "R", "RATE_LIMITED"],
  [[-1006, -1007], "U", "VENUE_STATE"],
  [[-5028], "R", "VENUE_STATE"],
  [[-1004, -1005, -1013, -1014, -1020, -1023], "P", "VENUE_STATE"],
  [[-1010, -1016, -1112, -1125, -2010, -2016, -2023], "S", "VENUE_STATE"],
  [range(-1100, -1106), "P", "VENUE_STATE"],
  [[-1108, -1109, -1110, -1113, -1114, -1115, -1116, -1117, -1118, -1119, -1120], "P", "VENUE_STATE"],
  [[-1111], "P", "SIZE"],
  [[-1121], "P", "NOT_FOUND"],
  [[-1127, -1128, -1130, -1136], "P", "VENUE_STATE"],
  [[-2011, -2013], "S", "NOT_FOUND"],
  [[-2018, -2019, -2027, -2028, -4050, -4051, -4118], "F", "INSUFFICIENT_MARGIN"],
  [[-2020, -5021], "S", "NO_LIQUIDITY"],
  [[-2021, -4142], "P", "PRICE"],
  [[-2022, -2024], "S", "REDUCE_ONLY"],
  [[-2025, -4045], "S", "VENUE_STATE"],
  [[-2026], "P", "REDUCE_ONLY"],
  [[-4000, -4022, -4033], "S", "VENUE_STATE"],
  // PERCENT_PRICE, judged by the mark at arrival. -4183 and -4184 judge a stop's limit around its trigger.
  [[-4016, -4024, -5060], "P", "PRICE_BAND"],
  [[-4001, -4002, -4006, -4007, -4013, -4014, -4029, -4058, -4183, -4184], "P", "PRICE"],
  [[-4003, -4004, -4005, -4023, -4030, -4055, -4164, -5076], "P", "SIZE"],
  [range(-4008, -4012), "P", "VENUE_STATE"],
  [[-4015], "P", "VENUE_STATE"],
  [[-4017, -4018, -4019, -4020, -4021, -4025, -4026, -4027, -4028, -4031, -4032, -4044], "P", "VENUE_STATE"],
  [[-4046, -4052, -4059], "N", "VENUE_STATE"],
  [[-4047, -4048, -4049, -4053, -4054], "S", "VENUE_STATE"],
  // The position mode of the account is not what the order was written for.
  [[-4060, -4061], "P", "VENUE_STATE"],
  [[-4062], "P", "REDUCE_ONLY"],
  [[-4063, -4064, -4065, -4066], "P", "VENUE_STATE"],
  [[-4067, -4068], "S", "VENUE_STATE"],
  [range(-4069, -4083), "P", "VENUE_STATE"],
  [[-4084], "S", "VENUE_STATE"],
  [[-4085, -4086], "P", "VENUE_STATE"],
  [[-4087, -4088], "S", "VENUE_STATE"],
  [[-4104, -4114, -4115, -4144], "P", "VENUE_STATE"],
  // The ancestor's code for a client order id in use among open orders.
  [[-4116], "S", "DUPLICATE_CLIENT_ID"],
  [[-4120], "P", "VENUE_STATE"],
  [[-4131], "S", "NO_LIQUIDITY"],
  [[-4135, -4137, -4138, -4139], "P", "VENUE_STATE"],
  [[-4140, -4141], "S", "VENUE_STATE"],
  [[-4161, -4168], "S", "VENUE_STATE"],
  [[-4165], "P", "VENUE_STATE"],
  [[-5022], "S", "PRICE"],
  [[-5037, -5040, -5041], "S", "VENUE_STATE"],
];

const BY_CODE: ReadonlyMap<number, VenueError> = new Map(
  ROWS.flatMap(([codes, errorClass, reason]) => codes.map((code) => [code, { errorClass, reason }] as const)),
);

const UNKNOWN_REFUSAL: VenueError = { errorClass: "S", reason: "VENUE_STATE" };

/** The text for a signer that is not approved, under the code of an internal fault. */
const NO_AGENT = /no agent found/i;

/** The signer is no agent of the account that it names. */
export function isUnknownAgent(text: string): boolean {
  return NO_AGENT.test(text);
}

/** It refuses the key itself, whatever was asked with it. -2015 does not: it may as well mean our address. */
export function isKeyRefusal(code: number, text: string): boolean {
  return code === -1022 || code === -2014 || NO_AGENT.test(text);
}

/** A code that is not in the table is still a refusal. The text decides where one code covers several causes. */
export function classifyError(code: number, text: string): VenueError {
  const known = BY_CODE.get(code) ?? UNKNOWN_REFUSAL;
  // -2010 and -4015 are also how engines of this family refuse a client order id that is in use.
  if (/duplicate/i.test(text) && /order/i.test(text)) return { errorClass: "S", reason: "DUPLICATE_CLIENT_ID" };
  if (NO_AGENT.test(text)) return { errorClass: "A", reason: "AUTH" };
  if (code === -1111 && /price/i.test(text)) return { errorClass: "P", reason: "PRICE" };
  if (code === -2010 && /reduce ?only/i.test(text)) return { errorClass: "S", reason: "REDUCE_ONLY" };
  return known;
}

/** @testonly Recorded refusals are all in the table. */
export function isListedCode(code: number): boolean {
  return BY_CODE.has(code);
}

/**
 * Must an order answered with this code be looked up before anything else? -1006 and -1007 by the venue's own words;
 * -1000 and -1001 are internal faults of which it does not say when they struck, so they are not taken for refusals, but
 * for one that names the signer: who signs is looked up before anything is executed.
 */
export function isOutcomeUnknown(code: number, text: string): boolean {
  if (BY_CODE.get(code)?.errorClass === "U") return true;
  return (code === -1000 || code === -1001) && !NO_AGENT.test(text);
}

/** The venue's clock and ours disagree, or a V3 nonce fell out of its window: refused before execution. */
export function isClockError(code: number): boolean {
  return code === -1021 || code === -4225;
}

/** A ban's end in the text: `... banned until 1763682000023`. */
export function bannedUntilMs(text: string): number | null {
  const match = /until (\d{13})/.exec(text);
  return match === null ? null : Number(match[1]);
}
