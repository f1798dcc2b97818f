/** POST /api/stream/ticket: opens the stream for the key of this request, for those who cannot sign a frame. */
import { ServiceError } from "../../../engine/domain/errors.js";
import { OPERATIONS } from "../../../schemas/operations.js";
import { compileSerialiser } from "../../../schemas/serialise.js";
import { streamTicketReplySchema } from "../../../schemas/stream.js";
import type { StreamTickets } from "../../http/caller.js";
import { jsonRoute } from "../../http/json-route.js";
import type { Route } from "../../http/route.js";
import type { RouteContext } from "./context.js";

/** `tickets` null: there are no keys here. */
export function streamTicketRoute(context: RouteContext, tickets: StreamTickets | null): Route {
  const { clock } = context;
  const serialise = compileSerialiser(streamTicketReplySchema);
  return jsonRoute(context, {
    operation: OPERATIONS.streamTicket,
    headers: [],
    sends: false,
    readsAddress: true,
    async answer({ caller, address }) {
      const { keyId } = caller;
      if (keyId === null || tickets === null) throw new ServiceError("AUTH_MISSING_HEADER", { header: "X-API-KEY" });
      const { ticket, expiresAt } = tickets.issue(keyId, address);
      return { text: serialise({ success: true, data: { ticket, expiresAt }, timestamp: clock.wallMs() }) };
    },
  });
}
