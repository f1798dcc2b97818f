import { vi } from "vitest";
import type { Lane } from "../../../engine/ports.js";
import { AccountLimiter } from "../net/account-limiter.js";

/** A planted fault: whatever an account sends is counted as of `laneOf` its lane. Until all mocks are restored. */
export function countingAs(laneOf: (lane: Lane) => Lane): void {
  for (const method of ["tryTake", "waitMs"] as const) {
    const asked = AccountLimiter.prototype[method];
    vi.spyOn(AccountLimiter.prototype, method).mockImplementation(function (
      this: AccountLimiter,
      account,
      weight,
      lane,
    ) {
      return asked.call(this, account, weight, laneOf(lane));
    });
  }
}
