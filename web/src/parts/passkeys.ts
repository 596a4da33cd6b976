/** Whether the browser has passkeys for the address of the page: they need a name, such as localhost. */
export const passkeysWork = (): boolean =>
  typeof PublicKeyCredential === "function" && !/^[\d.]+$|:/.test(location.hostname);
