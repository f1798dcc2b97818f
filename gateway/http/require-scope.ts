/** What a caller's key may do, checked after the key is proven. */
import { ServiceError } from "../../engine/domain/errors.js";
import type { Scope } from "../../schemas/operation.js";
import type { Caller } from "./caller.js";

/** Throws SCOPE_MISSING. No scope implies another. */
export function requireScope(caller: Caller, scope: Scope): void {
  if (!caller.scopes.has(scope)) throw new ServiceError("SCOPE_MISSING", { scope });
}
