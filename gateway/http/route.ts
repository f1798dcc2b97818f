/** A route as the server mounts it. */
import type { HttpRequest, HttpResponse } from "uWebSockets.js";
import type { Operation } from "../../schemas/operation.js";

/** A handler runs synchronously, may throw, and answers through the edge. */
export interface Route {
  readonly operation: Operation;
  /** It reads credentials, and charges whose they are (PendingReply.charge). */
  readonly byAccount?: boolean;
  handle(response: HttpResponse, request: HttpRequest): void;
}
