/** The version of the service, of its co-signer and of the command line: that of package.json. */
export const VERSION = "0.1.0";
