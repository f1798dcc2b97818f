/** Reads of the service's own API: one try, one deadline, an envelope that is checked before it is believed. */

export type FetchResult<T> =
  | { readonly ok: true; readonly data: T }
  | { readonly ok: false; readonly code: string; readonly error: string; readonly details: unknown };

const DEADLINE_MS = 8_000;

/** Never rejects. `UNREACHABLE` and `ABORTED` are ours, every other code is the service's. */
export async function fetchData<T>(path: string, signal: AbortSignal): Promise<FetchResult<T>> {
  try {
    const response = await fetch(path, {
      signal: AbortSignal.any([signal, AbortSignal.timeout(DEADLINE_MS)]),
      headers: { accept: "application/json" },
      cache: "no-store",
    });
    const body: unknown = await response.json();
    if (typeof body !== "object" || body === null)
      return failure("UNREACHABLE", "The service answered nothing readable.");
    // The service keeps its own schema; only the envelope is looked at here.
    if ("success" in body && body.success === true && "data" in body) return { ok: true, data: body.data as T };
    const { code, error, details } = body as { code?: unknown; error?: unknown; details?: unknown };
    return failure(
      typeof code === "string" ? code : "UNKNOWN",
      typeof error === "string" ? error : "The service refused without a reason.",
      details,
    );
  } catch {
    // Aborted by us, timed out, or no connection: nothing was learned either way.
    return signal.aborted ? failure("ABORTED", "") : failure("UNREACHABLE", "The service cannot be reached.");
  }
}

function failure(code: string, error: string, details: unknown = null): FetchResult<never> {
  return { ok: false, code, error, details };
}
