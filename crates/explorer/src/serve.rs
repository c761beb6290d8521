//! The explorer as the accept loop sees it.

use std::net::IpAddr;
use std::sync::Arc;

use http::{Request, Response};
use listen::{HttpRefusal, RequestBody, Serve};

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
        self.state().settings.trusted_proxies.iter().any(|net| net.contains(&peer))
    }

    fn http_refusal(&self) -> HttpRefusal {
        let (id, body) = self.refuse_unreadable();
        HttpRefusal { content_type: "application/json", request_id: id.to_string(), body }
    }
}
