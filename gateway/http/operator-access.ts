/**
 * Decides who may read the operator's own data of this service: fills, decisions, execution quality.
 *
 * These rows name accounts by keyed hash only, but sizes and times of closes are private too. A caller with an API key
 * needs the scope `admin`, from whatever address it asks. Without one, in public mode, the rule is: a service bound to loopback serves them to this machine, another one only when its operator has configured that.
 * A web page in a browser on this machine is not the operator. So a request that a browser marks as coming from another
 * site, or that reached loopback under a foreign host name (DNS rebinding), is refused, regardless of what CORS allows for public
 * data.
 */
import { ServiceError } from "../../engine/domain/errors.js";
import { ANONYMOUS_CALLER, type Caller } from "./caller.js";

export interface OperatorAccess {
  readonly loopbackOnly: boolean;
  /** The operator has opened these rows to everyone who reaches the port. */
  readonly open: boolean;
}

export interface RequestOrigin {
  /** Header texts; "" where absent. */
  readonly host: string;
  readonly origin: string;
  readonly fetchSite: string;
}

const LOOPBACK_HOST = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i;
const OWN_SITE: ReadonlySet<string> = new Set(["", "same-origin", "none"]);

/** Throws OPERATOR_DATA, or SCOPE_MISSING for a key without `admin`. */
export function requireOperator(access: OperatorAccess, request: RequestOrigin, caller: Caller): void {
  if (caller.scopes.has("admin")) return;
  if (caller.keyId !== null || caller === ANONYMOUS_CALLER) throw new ServiceError("SCOPE_MISSING", { scope: "admin" });
  if (access.open) return;
  if (!access.loopbackOnly) throw refused("NOT_LOOPBACK");
  if (!LOOPBACK_HOST.test(request.host)) throw refused("FOREIGN_HOST");
  const isOwnPage = request.origin === "" || request.origin === `http://${request.host}`;
  if (!isOwnPage || !OWN_SITE.has(request.fetchSite)) throw refused("CROSS_SITE");
}

function refused(reason: string): ServiceError {
  return new ServiceError("OPERATOR_DATA", { reason });
}
