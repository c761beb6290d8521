//! The explorer as the accept loop sees it.

use std::net::IpAddr;
use std::sync::Arc;

use http::{Request, Response};
use listen::{HttpRefusal, RequestBody, RequestId, Serve};

use crate::refusal::{Reason, Refusal};
use crate::{Body, Explorer, front};

impl Serve for Explorer {
    type Body = Body;

    fn serve(
        self: &Arc<Self>,
        request: Request<RequestBody>,
        peer: IpAddr,
    ) -> impl Future<Output = Response<Body>> + Send {
        front::handle(self, request, peer)
    }

    fn is_proxy(&self, peer: IpAddr) -> bool {
        self.state().settings.clients.is_proxy(peer)
    }

    fn refuse_further(&self) {
        self.set_refusing(true);
    }

    fn http_refusal(&self) -> HttpRefusal {
        let reason = Reason::BadRequest;
        self.metrics().refusal(reason);
        HttpRefusal {
            content_type: "application/json",
            request_id: RequestId::new().to_string(),
            body: Refusal::saying(reason, "not an HTTP request that can be read").body(),
        }
    }
}
