/** A route as the server mounts it. */
import type { HttpRequest, HttpResponse } from "uWebSockets.js";
import type { Operation } from "../../schemas/operation.js";

/** A handler runs synchronously, may throw, and replies through the edge. */
export interface Route {
  readonly operation: Operation;
  /** It reads credentials, and charges their owner (PendingReply.charge). */
  readonly byAccount?: boolean;
  handle(response: HttpResponse, request: HttpRequest): void;
}
