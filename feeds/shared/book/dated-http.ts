/** HTTP whose answers give the venue's time: the `Date` of each is one round trip of the clock estimate. */
import type { VenueHttp } from "../net/http.js";
import type { ClockOffset } from "./clock-offset.js";

/** `Date` headers are whole seconds. */
const DATE_RESOLUTION_MS = 1_000;

export function withDatedAnswers(http: VenueHttp, clockOffset: ClockOffset): VenueHttp {
  return {
    request: async (request) => {
      const begun = clockOffset.beginRoundTrip();
      const result = await http.request(request);
      if (result.kind === "response") {
        const dateMs = Date.parse(result.headers["date"] ?? "");
        clockOffset.addRoundTrip(result.sentAtMs, result.receivedAtMs, dateMs, DATE_RESOLUTION_MS, begun);
      }
      return result;
    },
  };
}
