// The link's key stands behind `#`, so that it is in no server's log; it leaves the address at once.
const key = location.hash.slice(1);
if (key) {
  document.getElementById("key").value = key;
  history.replaceState(null, "", location.pathname);
}
if (location.search === "?over") document.getElementById("over").hidden = false;
