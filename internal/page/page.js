// The secret of a link is in the fragment of its address, which browsers do not send. It goes into the form, and out
// of the address and the history.
const given = new URLSearchParams(location.hash.slice(1)).get("token");
const field = document.getElementById("token");
if (given && field) {
  field.value = given;
  history.replaceState(null, "", location.pathname + location.search);
  document.querySelector("input:not(#token)")?.focus();
}
