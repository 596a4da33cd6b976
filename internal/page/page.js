// The secret of a link is in the fragment of its address, which browsers do not send. It goes into the form, and out
// of the address and the history.
const takeToken = () => {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  const field = document.getElementById("token");
  if (given && field) {
    field.value = given;
    history.replaceState(null, "", location.pathname + location.search);
    document.querySelector("input:not(#token)")?.focus();
  }
};
takeToken();
// A link that is pasted into a tab where the page is open changes the fragment alone.
addEventListener("hashchange", takeToken);

// Passkeys: what the server asks for goes to the browser, and what the browser answers goes to the server.
const place = document.querySelector("[data-passkey]");
if (place && window.PublicKeyCredential?.parseRequestOptionsFromJSON) {
  const failed = place.querySelector("[data-failed]");
  const button = place.querySelector("button");
  const input = (name) => document.getElementById(name);
  const values = (names) => Object.fromEntries(names.filter((name) => input(name)?.value).map((name) => [name, input(name).value]));

  const send = async (path, body = {}) => {
    const answer = await fetch("/api/v1" + path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    const value = await answer.json();
    if (!answer.ok) throw { detail: value.errors?.[0]?.detail ?? value.detail };
    return value;
  };
  const make = async () => {
    const { options } = await send("/me/passkeys/options");
    const credential = await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) });
    await send("/me/passkeys", { credential: credential.toJSON() });
  };
  const enter = () => location.assign(place.dataset.after ?? "/sign-in");
  const fill = (...names) => names.every((name) => input(name).reportValidity());

  // Until a passkey is made, the token of the form counts again: a person who gives up here presses the button once more.
  const actions = {
    "sign-in": async () => {
      const { options } = await send("/auth/passkey/options");
      const credential = await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
      await send("/auth/passkey", { credential: credential.toJSON() });
      enter();
    },
    verify: async () => {
      const { options } = await send("/auth/passkey/options");
      const credential = await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
      await send("/session/verify", { credential: credential.toJSON() });
      enter();
    },
    setup: async () => {
      if (!fill("token", "name", "email")) return;
      await send("/setup", values(["token", "name", "email"]));
      await make();
      enter();
    },
    invitation: async () => {
      if (!fill("token", "name")) return;
      await send("/invitation", values(["token", "name"]));
      await make();
      enter();
    },
    add: async () => {
      await make();
      const done = place.querySelector("[data-done]");
      done.textContent = done.dataset.done;
      done.hidden = false;
    },
  };
  button.addEventListener("click", async () => {
    button.disabled = true;
    failed.hidden = true;
    try {
      await actions[place.dataset.passkey]();
    } catch (error) {
      failed.textContent = error.detail ?? failed.dataset.failed;
      failed.hidden = false;
    } finally {
      button.disabled = false;
    }
  });
  place.hidden = false;
}
