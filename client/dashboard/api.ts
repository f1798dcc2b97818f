/** Calls of the service's own API: one try, one deadline, an envelope that is checked before it is used. */

export type FetchResult<T> =
  | {
      readonly ok: true;
      readonly data: T;
      /** The service's time in its reply, Unix ms; null where there is none. */
      readonly serverMs: number | null;
    }
  | {
      readonly ok: false;
      readonly code: string;
      readonly error: string;
      readonly details: unknown;
      /** What a refusal contains besides its reason; undefined where there is nothing. */
      readonly data: unknown;
    };

export interface Call {
  readonly method?: "GET" | "POST" | "DELETE";
  readonly body?: object;
  /** A repeated call with the same key is the same call. */
  readonly idempotencyKey?: string;
  readonly deadlineMs?: number;
}

const DEADLINE_MS = 8_000;

/** Never rejects. `UNREACHABLE` and `ABORTED` come from here, every other code from the service. */
export async function fetchData<T>(path: string, signal: AbortSignal, call: Call = {}): Promise<FetchResult<T>> {
  try {
    const response = await fetch(path, {
      method: call.method ?? "GET",
      signal: AbortSignal.any([signal, AbortSignal.timeout(call.deadlineMs ?? DEADLINE_MS)]),
      headers: {
        accept: "application/json",
        ...(call.body === undefined ? {} : { "content-type": "application/json" }),
        ...(call.idempotencyKey === undefined ? {} : { "idempotency-key": call.idempotencyKey }),
      },
      ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
      cache: "no-store",
    });
    const body: unknown = await response.json();
    if (typeof body !== "object" || body === null)
      return failure("UNREACHABLE", "The service answered nothing readable.");
    const { success, data, timestamp } = body as { success?: unknown; data?: unknown; timestamp?: unknown };
    // The service checks its own schema; only the envelope is checked here.
    if (success === true && data !== undefined)
      return { ok: true, data: data as T, serverMs: typeof timestamp === "number" ? timestamp : null };
    const { code, error, details } = body as { code?: unknown; error?: unknown; details?: unknown };
    return failure(
      typeof code === "string" ? code : "UNKNOWN",
      typeof error === "string" ? error : "The service refused without a reason.",
      details,
      data,
    );
  } catch {
    // Aborted here, timed out, or no connection: the outcome is not known.
    return signal.aborted ? failure("ABORTED", "") : failure("UNREACHABLE", "The service cannot be reached.");
  }
}

function failure(code: string, error: string, details: unknown = null, data: unknown = undefined): FetchResult<never> {
  return { ok: false, code, error, details, data };
}
