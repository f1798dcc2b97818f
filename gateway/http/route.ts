/** A route as the server mounts it. */
import type { HttpRequest, HttpResponse } from "uWebSockets.js";
import type { Operation } from "../../schemas/operation.js";

/** A handler runs synchronously, may throw, and replies through the edge. */
export interface Route {
  readonly operation: Operation;
  /** It reads credentials, and charges their owner (PendingReply.charge). */
  readonly byAccount?: boolean;
  /** It reads the body, and proves the caller with it first (PendingReply.prove). */
  readonly readsBody?: boolean;
  handle(response: HttpResponse, request: HttpRequest): void;
}
