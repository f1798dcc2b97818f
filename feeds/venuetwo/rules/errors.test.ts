import { describe, expect, it } from "vitest";
import { bannedUntilMs, classifyError, isClockError, isListedCode, isOutcomeUnknown } from "./errors.js";

/** Every code of the venue sheet, section 10, with its class there; ranges written out. */
const BY_CLASS: Record<string, readonly number[]> = {
  R: [-1000, -1001, -1003, -1008, -1015, -1021, -4225, -5028],
  U: [-1006, -1007],
  A: [-1002, -1011, -1022, -2014, -2015, -4056, -4057],
  P: [
    -1004, -1005, -1013, -1014, -1020, -1023, -1100, -1101, -1102, -1103, -1104, -1105, -1106, -1108, -1109, -1110,
    -1111, -1113, -1114, -1115, -1116, -1117, -1118, -1119, -1120, -1121, -1127, -1128, -1130, -1136, -2021, -2026,
    -4001, -4002, -4003, -4004, -4005, -4006, -4007, -4008, -4009, -4010, -4011, -4012, -4013, -4014, -4015, -4016,
    -4017, -4018, -4019, -4020, -4021, -4023, -4024, -4025, -4026, -4027, -4028, -4029, -4030, -4031, -4032, -4044,
    -4055, -4058, -4060, -4061, -4062, -4063, -4064, -4065, -4066, -4069, -4070, -4071, -4072, -4073, -4074, -4075,
    -4076, -4077, -4078, -4079, -4080, -4081, -4082, -4083, -4085, -4086, -4104, -4114, -4115, -4120, -4135, -4137,
    -4138, -4139, -4142, -4144, -4164, -4165, -4183, -4184, -5060, -5076,
  ],
  F: [-2018, -2019, -2027, -2028, -4050, -4051, -4118],
  S: [
    -1010, -1016, -1112, -1125, -2010, -2011, -2013, -2016, -2020, -2022, -2023, -2024, -2025, -4000, -4022, -4033,
    -4045, -4047, -4048, -4049, -4053, -4054, -4067, -4068, -4084, -4087, -4088, -4131, -4140, -4141, -4161, -4168,
    -5021, -5022, -5037, -5040, -5041,
  ],
  N: [-4046, -4052, -4059],
};

/** Codes an order close can meet, and what we make of them. */
const REASONS: readonly (readonly [number, string, string])[] = [
  [-1003, "Too many requests; current limit is 2400 requests per minute.", "RATE_LIMITED"],
  [-1008, "Server is currently overloaded", "RATE_LIMITED"],
  [-1015, "Too many new orders; current limit is 300 orders per TEN_SECONDS.", "RATE_LIMITED"],
  [-1021, "Timestamp for this request is outside of the recvWindow.", "VENUE_STATE"],
  [-1022, "Signature for this request is not valid.", "AUTH"],
  [-2014, "API-key format invalid.", "AUTH"],
  [-2015, "Invalid API-key, IP, or permissions for action", "AUTH"],
  [-4225, "Nonce Expired", "VENUE_STATE"],
  [-1111, "Precision is over the maximum defined for this asset.", "SIZE"],
  [-1111, "Price precision is over the maximum defined.", "PRICE"],
  [-1121, "Invalid symbol.", "NOT_FOUND"],
  [-2010, "Duplicate order sent.", "DUPLICATE_CLIENT_ID"],
  [-2010, "NEW_ORDER_REJECTED", "VENUE_STATE"],
  [-4116, "ClientOrderId is duplicated.", "DUPLICATE_CLIENT_ID"],
  [-4015, "Client order id is not valid.", "VENUE_STATE"],
  [-4015, "Duplicate client order id.", "DUPLICATE_CLIENT_ID"],
  [-2011, "Unknown order sent.", "NOT_FOUND"],
  [-2013, "Order does not exist.", "NOT_FOUND"],
  [-2018, "Balance is insufficient.", "INSUFFICIENT_MARGIN"],
  [-2019, "Margin is insufficient.", "INSUFFICIENT_MARGIN"],
  [-2020, "Unable to fill.", "NO_LIQUIDITY"],
  [-2022, "ReduceOnly Order is rejected.", "REDUCE_ONLY"],
  [-2024, "Position is not sufficient.", "REDUCE_ONLY"],
  [-4014, "Price not increased by tick size.", "PRICE"],
  [-4016, "Limit price can't be higher than 1.", "PRICE_BAND"],
  [-4024, "Limit price can't be lower than 1.", "PRICE_BAND"],
  [-5060, "limit price outside the band", "PRICE_BAND"],
  // Around a stop's trigger: no fresh mark changes that.
  [-4183, "Limit price can't be higher than 1.", "PRICE"],
  [-4184, "Limit price can't be lower than 1.", "PRICE"],
  [-4003, "Quantity less than zero.", "SIZE"],
  [-4023, "Qty not increased by step size.", "SIZE"],
  [-4164, "Order's notional must be no smaller than 5.0", "SIZE"],
  [-5076, "order value below 5", "SIZE"],
  [-4131, "The counterparty's best price does not meet the PERCENT_PRICE filter limit.", "NO_LIQUIDITY"],
  [-4061, "Order's position side does not match user's setting.", "VENUE_STATE"],
  [-2023, "User in liquidation mode now.", "VENUE_STATE"],
  [-9999, "something new", "VENUE_STATE"],
  [-1000, "No agent found", "AUTH"],
];

describe("error codes of venuetwo", () => {
  it.each(Object.entries(BY_CLASS).flatMap(([errorClass, codes]) => codes.map((code) => [code, errorClass] as const)))(
    "%i is listed with class %s",
    (code, errorClass) => {
      expect(isListedCode(code)).toBe(true);
      expect(classifyError(code, "").errorClass).toBe(errorClass);
    },
  );

  it.each(REASONS)("%i %s is %s", (code, text, reason) => {
    expect(classifyError(code, text).reason).toBe(reason);
  });

  it("leaves the outcome open where the venue does not say that nothing happened", () => {
    expect([-1000, -1001, -1006, -1007].every((code) => isOutcomeUnknown(code, ""))).toBe(true);
    // What the venue itself calls unknown is that, whatever its text.
    expect([-1006, -1007].every((code) => isOutcomeUnknown(code, "No agent found"))).toBe(true);
    expect(isOutcomeUnknown(-1000, "No agent found")).toBe(false);
    expect([-1003, -1008, -1021, -2010, -2022, -9999].some((code) => isOutcomeUnknown(code, ""))).toBe(false);
  });

  it("knows clock refusals and the end of a ban", () => {
    expect([-1021, -4225].every(isClockError)).toBe(true);
    expect(isClockError(-1022)).toBe(false);
    expect(bannedUntilMs("Way too many requests; IP banned until 1763682000023. Please use the websocket")).toBe(
      1_763_682_000_023,
    );
    expect(bannedUntilMs("until tomorrow")).toBeNull();
  });
});
