/**
 * Calls a caller's listener. What it throws, or rejects with where it is asynchronous, goes where a page shows its own
 * errors: it changes nothing of the order, and ends no process.
 */
export function callListener(call: () => unknown): void {
  const called = async (): Promise<unknown> => call();
  void called().catch((error: unknown) => {
    (globalThis as { readonly reportError?: (error: unknown) => void }).reportError?.(error);
  });
}
