#include "tls/wire.h"

static int on_read(BIO *bio, char *to, int room) {
  tls_Wire *w = (tls_Wire *)BIO_get_data(bio);
  size_t n = w->length < (size_t)room ? w->length : (size_t)room;
  BIO_clear_retry_flags(bio);
  if (n == 0) {
    BIO_set_retry_read(bio);
    return -1;
  }
  memcpy(to, w->bytes, n);
  w->bytes += n;
  w->length -= n;
  return (int)n;
}

static int on_write(BIO *bio, const char *bytes, int length) {
  tls_Wire *w = (tls_Wire *)BIO_get_data(bio);
  BIO_clear_retry_flags(bio);
  return buffer_add(w->out, bytes, (size_t)length) ? length : -1;
}

static long on_control(BIO *bio, int command, long number, void *pointer) {
  (void)bio, (void)number, (void)pointer;
  return command == BIO_CTRL_FLUSH;
}

BIO_METHOD *tls_wire_method(void) {
  BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "operations");
  if (method == NULL) return NULL;
  (void)BIO_meth_set_read(method, on_read);
  (void)BIO_meth_set_write(method, on_write);
  (void)BIO_meth_set_ctrl(method, on_control);
  return method;
}
