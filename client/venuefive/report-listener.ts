/** What a caller's listener threw, where a page shows its own errors. It changes nothing of the order. */
export function reportListener(error: unknown): void {
  (globalThis as { readonly reportError?: (error: unknown) => void }).reportError?.(error);
}
