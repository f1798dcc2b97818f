import { PartyCertificateError } from "../party-certificate.js";

/** Why a certificate was refused; "none" where it was not. */
export function certificateProblem(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof PartyCertificateError) return error.reason;
    throw error;
  }
  return "none";
}
