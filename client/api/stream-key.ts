/** The key of an API client as the stream client takes it: signed there, or exchanged for a ticket. */
import type { StreamKey } from "../stream/stream-client.js";
import type { ApiClient } from "./api-client.js";
import type { ApiResult } from "./operations.js";

/** Each connection is proven by a signature of its own. */
export function signedStreamKey(api: Pick<ApiClient, "streamClaim" | "noteServerTime">): StreamKey {
  return {
    claim: () => api.streamClaim(),
    refused: (_code, serverTimeMs) => {
      if (serverTimeMs !== null) api.noteServerTime(serverTimeMs);
    },
  };
}

/**
 * Each connection is proven by a ticket, so that the key itself may be elsewhere. `fetchTicket` is the call of
 * `POST /api/stream/ticket`, or of what makes it. Its refusal gives up the connection, to be tried again later.
 */
export function ticketStreamKey(
  fetchTicket: () => Promise<ApiResult<{ readonly ticket: string }, unknown>>,
): StreamKey {
  return {
    async claim() {
      const result = await fetchTicket();
      if (!result.ok) throw new Error(result.code);
      return { ticket: result.data.ticket };
    },
  };
}
