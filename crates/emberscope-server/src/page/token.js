// A view's address is the part after `#`, which no request carries: the form takes it along, and the browser keeps it.
const form = document.querySelector("form");
if (form) form.action += location.hash;
